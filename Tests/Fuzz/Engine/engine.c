/* libFuzzer brings the main function, which calls the entry of FuzzTargets. SwiftPM wants a source file all the same. */
typedef int tokenkit_fuzz_engine;
