import Foundation
import TestSupport
import Testing

/// The host that a C program has for itself, whatever the program does with its processes and descriptors.
@Suite struct COwnHostTests {
    private let stage: CStage

    init() throws {
        stage = try CStage()
    }

    /// Finds the password that every test stores, which needs the keychain to be unlocked.
    private static let setUp = """
        SecKeychainRef keychain = fresh("login");
        assert(SecKeychainAddGenericPassword(NULL, 4, "mail", 2, "jo", 5, "s3crt", NULL) == errSecSuccess);
        #define find() SecKeychainFindGenericPassword(NULL, 4, "mail", 2, "jo", NULL, NULL, NULL)
        """

    private func run(_ source: String) throws -> ProgramResult {
        try stage.run(
            "\(Self.setUp)\n\(source)\nCFRelease(keychain);",
            including: ["fcntl.h", "stdlib.h", "sys/wait.h", "unistd.h"])
    }

    @Test func itEndsWithTheProgram() throws {
        let result = try run("assert(find() == errSecSuccess);")
        #expect(result.status == 0, "\(result)")
        #expect(eventually { stage.hosts.isEmpty })
    }

    @Test func childrenByForkAskHostsOfTheirOwnAndLeaveTheParentsAlone() throws {
        let result = try run(
            """
            for (int round = 0; round < 20; round++) {
                pid_t child = fork();
                if (child == 0) _exit(find() == errSecSuccess ? 0 : 1);
                assert(find() == errSecSuccess);
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
                assert(find() == errSecSuccess);
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
                assert(SecKeychainUnlock(keychain, 4, "open", 1) == errSecSuccess);
            }
            """)
        #expect(result.status == 0, "\(result)")
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
