import Foundation
import TestSupport
import Testing

/// The host that a C program has for itself, whatever the program does with its processes and descriptors.
@Suite struct COwnHostTests {
    private let stage: CStage

    init() throws {
        stage = try CStage()
    }

    /// A password, the search for it, and the reading of it, which the keychain has to be unlocked for.
    private static let setUp = """
        SecKeychainRef keychain = fresh("login");
        assert(SecKeychainAddGenericPassword(NULL, 4, "mail", 2, "jo", 5, "s3crt", NULL) == errSecSuccess);
        uint32_t length; void *data;
        #define find() SecKeychainFindGenericPassword(NULL, 4, "mail", 2, "jo", NULL, NULL, NULL)
        #define read() SecKeychainFindGenericPassword(NULL, 4, "mail", 2, "jo", &length, &data, NULL)
        #define locked errSecInteractionNotAllowed
        assert(read() == errSecSuccess && length == 5);
        """

    private func run(_ source: String) throws -> ProgramResult {
        try stage.run(
            "\(Self.setUp)\n\(source)\nCFRelease(keychain);",
            including: ["fcntl.h", "pthread.h", "stdlib.h", "sys/wait.h", "unistd.h"])
    }

    @Test func itEndsWithTheProgram() throws {
        let result = try run("assert(read() == errSecSuccess);")
        #expect(result.status == 0, "\(result)")
        #expect(eventually { stage.hosts.isEmpty })
    }

    @Test func childrenByForkAskHostsOfTheirOwnAndLeaveTheParentsAlone() throws {
        let result = try run(
            """
            for (int round = 0; round < 20; round++) {
                pid_t child = fork();
                if (child == 0) _exit(find() == errSecSuccess && read() == locked ? 0 : 1);
                assert(read() == errSecSuccess);
                int status;
                assert(waitpid(child, &status, 0) == child && status == 0);
            }
            assert(waitpid(-1, NULL, 0) == -1);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aDaemonMayCloseEveryDescriptorAndUseTheNumbersAgain() throws {
        let result = try run(
            """
            for (int round = 0; round < 20; round++) {
                for (int descriptor = 3; descriptor < 1024; descriptor++) close(descriptor);
                int files[200];
                for (int index = 0; index < 200; index++) assert((files[index] = open("/dev/null", O_RDWR)) >= 0);
                assert(find() == errSecSuccess && read() == locked);
                for (int index = 0; index < 200; index++) assert(write(files[index], "x", 1) == 1 && close(files[index]) == 0);
            }
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aProgramWithoutStandardStreamsMayWriteToTheirNumbers() throws {
        let result = try stage.run(
            """
            for (int stream = 0; stream < 3; stream++) close(stream);
            \(Self.setUp)
            for (int round = 0; round < 20; round++) {
                for (int stream = 0; stream < 3; stream++) (void)!write(stream, "text", 4);
                if (find() != errSecSuccess) return 1;
            }
            CFRelease(keychain);
            """, including: ["unistd.h"])
        #expect(result.status == 0, "\(result)")
    }

    @Test func aHostThatIsKilledCostsOneCall() throws {
        let script = stage.folder.path("kill")
        let text = """
            for environment in $(grep -l "HOME=$HOME" /proc/[0-9]*/environ 2>/dev/null); do
                process=${environment%/environ}
                grep -qa tokenkitd $process/cmdline 2>/dev/null && kill -9 ${process#/proc/}
            done
            true
            """
        try text.write(toFile: script, atomically: true, encoding: .utf8)
        let result = try run(
            """
            for (int round = 0; round < 5; round++) {
                assert(find() == errSecSuccess);
                assert(system("/bin/sh \(script)") == 0);
                assert(find() == errSecNotAvailable);
                assert(read() == locked);
            }
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func twoHundredThreadsAskAtOnce() throws {
        let result = try stage.run(
            """
            \(Self.setUp)
            pthread_t threads[200];
            for (int index = 0; index < 200; index++) assert(pthread_create(&threads[index], NULL, ask, NULL) == 0);
            for (int index = 0; index < 200; index++) {
                void *wrong = NULL;
                assert(pthread_join(threads[index], &wrong) == 0 && wrong == NULL);
            }
            CFRelease(keychain);
            """, including: ["pthread.h"],
            declaring: """
                static void *ask(void *nothing) {
                    for (int round = 0; round < 5; round++)
                        if (SecKeychainFindGenericPassword(NULL, 4, "mail", 2, "jo", NULL, NULL, NULL) != errSecSuccess) return "wrong";
                    return nothing;
                }
                """)
        #expect(result.status == 0, "\(result)")
    }

    /// Only root can give up rights; any other user's program finds its password as before.
    @Test func aProgramThatGivesUpItsRightsLosesTheHostThatHasThem() throws {
        let result = try run(
            """
            int isRoot = geteuid() == 0;
            assert(!isRoot || setuid(65534) == 0);
            assert((read() == errSecSuccess) == !isRoot);
            """)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aHostThatOthersCanWriteIsNotStarted() throws {
        let starts = stage.folder.path("starts")
        try stage.replaceLibrary(withCopyBeside: "#!/bin/sh\necho start >>'\(starts)'\n")
        let opened = try Program.run(["chmod", "o+w", stage.folder.path("tokenkitd")])
        try #require(opened.status == 0, "\(opened)")
        let result = try stage.run(
            "(void)SecKeychainFindGenericPassword(NULL, 4, \"mail\", 0, NULL, NULL, NULL, NULL);")
        #expect(result.status == 0, "\(result)")
        #expect(!FileManager.default.fileExists(atPath: starts))
    }

    @Test func aHostThatCannotRunIsAnErrorAndIsNotStartedByEachCall() throws {
        let starts = stage.folder.path("starts")
        try stage.replaceLibrary(withCopyBeside: "#!/bin/sh\necho start >>'\(starts)'\n")
        let result = try stage.run(
            """
            for (int call = 0; call < 1000; call++) {
                assert(SecKeychainFindGenericPassword(NULL, 4, "mail", 0, NULL, NULL, NULL, NULL) == errSecNotAvailable);
                poll(NULL, 0, 1);
            }
            """, including: ["poll.h"])
        #expect(result.status == 0, "\(result)")
        let started = try String(contentsOfFile: starts, encoding: .utf8).split(separator: "\n").count
        #expect(1...20 ~= started)
    }
}
