# For scripts that tests run by cmake -P.

# run_or_fail(command...): runs it. Puts what it wrote into `output`, or ends the script with that when it fails.
function(run_or_fail)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
