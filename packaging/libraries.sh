#!/usr/bin/env bash
# Gathers the shared libraries that an installed tree needs into the tree, and has every file look for them there. Sourced by what
# makes packages, with
#
#   tree               the installed tree; its programs and libraries are found below it
#   private            the folder in it for libraries of others; UCX's modules go to private/ucx
#   scratch            a folder for notes
#   is_host_library    a function: whether a library of this name is the host's to give
#   stop               a function: says why and ends

# is_elf FILE: a program or shared library.
is_elf() {
    local magic=
    IFS= LC_ALL=C read -r -N 4 magic <"$1" || true
    [[ $magic == $'\x7fELF' ]]
}

elf_files() {
    local file
    while IFS= read -r file; do
        if is_elf "$file"; then printf '%s\n' "$file"; fi
    done < <(find "${tree:?}" -type f | LC_ALL=C sort)
}

# is_glibc NAME: a part of glibc, which fits its loader, or what the kernel or a driver's package brings.
is_glibc() {
    case $1 in
        ld-linux*.so.* | linux-vdso.so.* | libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.*) ;;
        librt.so.* | libresolv.so.* | libutil.so.* | libanl.so.* | libnss_*.so.* | libcuda.so.*) ;;
        *) return 1 ;;
    esac
}

# needs_of FILE...: "NAME PATH" of every library that they bring with them, directly or not.
needs_of() {
    local file
    for file in "$@"; do ldd "$file"; done | awk '$2 == "=>" { print $1, ($3 == "not" ? "-" : $3) }' | LC_ALL=C sort -u
}

# direct_needs FILE...: the names that they ask for themselves.
direct_needs() { readelf --dynamic --wide "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | LC_ALL=C sort -u; }

# UCX opens its modules by name, so nothing needs them; they lie in a folder beside it.
ucx_modules() {
    local ucs folder
    ucs=$(needs_of "$1" | awk '$1 ~ /^libucs\.so/ { print $2 }')
    [[ -n $ucs ]] || stop "$1 is not linked with UCX"
    folder=$(dirname "$(readlink -f "$ucs")")/ucx
    find "$folder" -name "lib*.so.${ucs##*.so.}" | LC_ALL=C sort
}

copy_library() {
    if [[ -e $2 ]]; then return; fi
    install -D -m 755 "$(readlink -f "$1")" "$2"
    # Where it came from.
    printf '%s %s\n' "${2#"$tree"/}" "$(readlink -f "$1")" >>"${scratch:?}/origins"
}

# copy_libraries PACED: UCX's modules, and what any file needs, directly or through another's library; not what only a library of the
# host's needs.
copy_libraries() {
    local modules module wanted files path copied=yes
    local -A paths ours
    modules=$(ucx_modules "$1")
    [[ -n $modules ]] || stop "UCX has no modules on this machine"
    while IFS= read -r module; do
        copy_library "$module" "${private:?}/ucx/$(basename "$module")"
    done <<<"$modules"
    mapfile -t files < <(elf_files)
    while read -r wanted path; do paths[$wanted]=$path; done < <(needs_of "${files[@]}")
    while [[ $copied == yes ]]; do
        copied=no
        mapfile -t files < <(elf_files)
        while IFS= read -r wanted; do ours[$wanted]=1; done < <(find "$tree" -name '*.so*' -printf '%f\n')
        while IFS= read -r wanted; do
            if [[ -v ours[$wanted] ]] || is_host_library "$wanted"; then continue; fi
            path=${paths[$wanted]:--}
            [[ $path != - ]] || stop "$wanted is needed, and not on this machine"
            copy_library "$path" "$private/$wanted"
            copied=yes
        done < <(direct_needs "${files[@]}")
    done
}

# Every file looks for libraries in the private folder and, where UCX's modules need each other, beside itself, both seen from itself.
set_run_paths() {
    local file folder path
    while IFS= read -r file; do
        folder=$(dirname "$file")
        path=$(realpath --relative-to="$folder" "$private")
        if [[ $path == . ]]; then path="\$ORIGIN"; else path="\$ORIGIN/$path"; fi
        if [[ $folder == "$private/ucx" ]]; then path+=":\$ORIGIN"; fi
        patchelf --set-rpath "$path" "$file"
    done < <(elf_files)
}

# package_of FILE: the Debian package that it is from, with its version; nothing if it is from none.
package_of() {
    local file=$1 owner
    command -v dpkg-query >/dev/null || return 0
    # A merged /usr: the package may know the file without it.
    owner=$(dpkg-query --search "$file" 2>/dev/null || dpkg-query --search "${file#/usr}" 2>/dev/null || true)
    [[ -n $owner ]] || return 0
    dpkg-query --show --showformat='${Package} ${Version}\n' "${owner%%: *}" | head -n 1
}

# describe_third_party DOCUMENTS: what is not ours: its origin, and its licence.
describe_third_party() {
    local documents=$1 copy origin package release
    mkdir -p "$documents/licences"
    while read -r copy origin; do
        read -r package release < <(package_of "$origin") || true
        printf '%s\t%s\t%s\n' "$copy" "${package:-unknown}" "${release:-unknown}"
        if [[ -n ${package:-} && -f /usr/share/doc/$package/copyright ]]; then
            install -m 644 "/usr/share/doc/$package/copyright" "$documents/licences/$package"
        fi
    done < <(LC_ALL=C sort "$scratch/origins") >"$documents/third-party.tsv"
}
