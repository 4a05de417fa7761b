import Foundation
import KeychainModel
import TestSupport
import Testing

/// The effects of the C library on the process of a program that loads it, read from its file.
@Suite struct CLibraryFileTests {
    private let library = Program.products + "/libtokenkit-keychain.so"

    private func lines(_ command: String...) throws -> [[String]] {
        let result = try Program.run(command + [library])
        try #require(result.status == 0, "\(result)")
        return result.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }

    /// The functions of libc that the library calls. A new one has to be added with its reason, and must not change what belongs to
    /// the program: its handlers, threads, locale, environment or current folder.
    private static let calls: [(reason: String, names: Set<String>)] = [
        ("Memory for messages", ["free", "memcpy", "memmove", "memset", "posix_memalign"]),
        ("Memory that programs have and free", ["calloc", "explicit_bzero"]),
        ("Seeds of Swift's hashes", ["arc4random_buf"]),
        ("Text", ["snprintf", "strchr", "strcmp", "strcpy", "strlen", "strrchr"]),
        ("The compiler's check of the stack, errno", ["__errno_location", "__stack_chk_fail"]),
        ("The environment, and whether it is to be believed", ["environ", "getauxval", "secure_getenv"]),
        (
            "Where the host is, and whether it is this user's",
            ["access", "dladdr", "lstat", "read", "realpath", "stat"]
        ),
        ("Where a relative path begins", ["getcwd"]),
        // The optimiser makes bcmp of a memcmp that asks for equality alone.
        ("Whether its children are in its PID namespace", ["bcmp", "memcmp", "readlink"]),
        (
            "Who this is, and whether a fork has made another of it, or it has given up rights",
            ["getegid", "geteuid", "getpid", "madvise"]
        ),
        (
            "Connections",
            [
                "close", "connect", "fcntl", "fstat", "getpeername", "getsockopt", "poll", "recv", "sendmsg",
                "setsockopt", "shutdown",
                "socket", "socketpair",
            ]
        ),
        ("Threads that wait for another one's connection, and times of the log", ["clock_gettime", "usleep"]),
        ("Calls that are not cancelled midway", ["pthread_setcancelstate"]),
        ("The log", ["open", "strdup", "write"]),
        (
            "The start of the host",
            ["clone", "mmap", "munmap", "pthread_sigmask", "sigfillset", "syscall", "waitpid"]
        ),
    ]

    @Test func itNeedsTheCLibraryAlone() throws {
        let needed = try lines("readelf", "--wide", "--dynamic").filter { $0.contains("(NEEDED)") }
        #expect(needed.map { $0.last } == ["[libc.so.6]"])
    }

    @Test func itCallsWhatIsKnownAndNothingThatChangesTheProgram() throws {
        // Weak symbols belong to the C runtime, and may be missing.
        let called = try lines("nm", "--dynamic", "--undefined-only").compactMap { line in
            line.first == "U" ? line.last?.split(separator: "@").first.map(String.init) : nil
        }
        let known = Self.calls.reduce(into: Set()) { $0.formUnion($1.names) }
        #expect(called.filter { !known.contains($0) } == [])
        #expect(called.contains("clone"))
    }

    /// The only initialiser is the C runtime's own.
    @Test func nothingRunsWhenItIsLoaded() throws {
        let dynamic = try lines("readelf", "--wide", "--dynamic")
        let size = dynamic.first { $0.contains("(INIT_ARRAYSZ)") }
        #expect(size?.suffix(2) == ["8", "(bytes)"])
        let content = try lines("readelf", "--wide", "--hex-dump=.init_array").first {
            $0.first?.hasPrefix("0x") == true
        }
        let words = Array(try #require(content).dropFirst().prefix(2).joined())
        let bytes = stride(from: 0, to: words.count, by: 2).map { String(words[$0..<$0 + 2]) }.reversed().joined()
        let entry = try lines("nm").first { $0.last == "frame_dummy" }
        #expect(UInt64(bytes, radix: 16) == UInt64(try #require(entry?.first), radix: 16))
    }

    /// As `make install` strips it, and without what only the compiler reads.
    @Test func itIsSmall() throws {
        let folder = try TemporaryFolder()
        let stripped = folder.path("library.so")
        let strip = ["strip", "--strip-unneeded", "--remove-section=.swift_ast", "-o", stripped, library]
        try #require(try Program.run(strip).status == 0)
        let size = try #require(FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int)
        #expect(size <= 150 << 10)
    }

    /// The library has a table of its own.
    @Test func eachCodeHasTheMessageOfTheModel() throws {
        let checks = (ErrSec.allNamed + [ErrSec(rawValue: -1), ErrSec(rawValue: .min), ErrSec(rawValue: .max)]).map {
            let code = $0.rawValue == .min ? "INT32_MIN" : "\($0.rawValue)"
            return "assert(strcmp(tokenkit_keychain_message(\(code)), \"\($0.message)\") == 0);"
        }
        let result = try CStage().run(
            """
            \(checks.joined(separator: "\n"))
            assert(tokenkit_keychain_message(-1) == tokenkit_keychain_message(-1));
            const char *kept = tokenkit_keychain_message(-1);
            for (int code = 1; code < 1000; code++) assert(strlen(tokenkit_keychain_message(code)) > 0);
            assert(strcmp(kept, "error -1") == 0);
            """)
        #expect(result.status == 0, "\(result)")
    }
}
