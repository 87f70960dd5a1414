//! Lets the driver find the libpace that it was linked with, in the folder that PACE_LIB_DIR names, without LD_LIBRARY_PATH; unless
//! PACE_WITHOUT_RPATH is set, for a driver that goes elsewhere.

fn main() {
    println!("cargo:rerun-if-env-changed=PACE_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PACE_WITHOUT_RPATH");
    if std::env::var("PACE_WITHOUT_RPATH").is_ok() {
        return;
    }
    if let Ok(folder) = std::env::var("PACE_LIB_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{}", folder);
    }
}
