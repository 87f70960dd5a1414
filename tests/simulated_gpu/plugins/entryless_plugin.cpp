// A shared library that is no plug-in.
extern "C" __attribute__((visibility("default"))) int pace_no_device_plugin() {
    return 0;
}
