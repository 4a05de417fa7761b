/* libFuzzer has the main function, which calls the entry of FuzzTargets. SwiftPM still needs a source file. */
typedef int tokenkit_fuzz_engine;
