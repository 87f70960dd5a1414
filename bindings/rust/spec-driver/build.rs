//! Lets the driver find the libpace that it was linked with, in the folder that PACE_LIB_DIR names, without LD_LIBRARY_PATH.

fn main() {
    println!("cargo:rerun-if-env-changed=PACE_LIB_DIR");
    if let Ok(folder) = std::env::var("PACE_LIB_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{}", folder);
    }
}
