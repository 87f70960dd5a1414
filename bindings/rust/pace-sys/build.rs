//! Says where the linker finds libpace.
//!
//! The folder that PACE_LIB_DIR names, else what pkg-config tells of `pace`, else the linker's own folders.

use std::env;
use std::process::Command;

fn main() {
    for name in ["PACE_LIB_DIR", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    match env::var("PACE_LIB_DIR") {
        Ok(folder) => println!("cargo:rustc-link-search=native={}", folder),
        Err(_) => search_where_pkg_config_says(),
    }
    println!("cargo:rustc-link-lib=dylib=pace");
}

/// Without pkg-config, or where it does not know Pace, the linker looks in its own folders.
fn search_where_pkg_config_says() {
    let answer = Command::new("pkg-config").args(["--libs-only-L", "pace"]).output();
    let told = match answer {
        Ok(output) if output.status.success() => output.stdout,
        _ => return,
    };
    for word in String::from_utf8_lossy(&told).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        }
    }
}
