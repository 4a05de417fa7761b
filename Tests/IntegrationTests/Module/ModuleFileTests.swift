import Foundation
import TestSupport
import Testing
import VirtualCard

/// The effects of the module on the process of a program that loads it, read from its file, and from the stack of its callers.
@Suite struct ModuleFileTests {
    private let module = ModuleProgram.module

    /// The module before it is stripped, with the names of its functions.
    private let unstripped: String

    init() throws {
        guard Program.prefix != nil else {
            unstripped = module
            return
        }
        unstripped = Program.packageRoot.path + "/.build/release/libtokenkit-pkcs11.so"
        let identifiers = try [module, unstripped].map { file in
            try Self.lines(of: file, ["readelf", "--wide", "--notes"]).first { $0.contains("Build") }?.last
        }
        try #require(identifiers[0] != nil && identifiers[0] == identifiers[1])
    }

    private func lines(_ command: String...) throws -> [[String]] { try Self.lines(of: module, command) }

    private static func lines(of file: String, _ command: [String]) throws -> [[String]] {
        let result = try Program.run(command + [file])
        try #require(result.status == 0, "\(result)")
        return result.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }

    /// The functions of libc that the module calls. A new one has to be added with its reason, and must not change what belongs to
    /// the program: its handlers, threads, locale, environment or current folder.
    private static let calls: [(reason: String, names: Set<String>)] = [
        ("Memory for messages", ["free", "memcpy", "memmove", "memset", "posix_memalign"]),
        ("Seeds of Swift's hashes", ["arc4random_buf"]),
        ("Text", ["strchr", "strcmp", "strcpy", "strlen"]),
        ("The compiler's check of the stack, errno", ["__errno_location", "__stack_chk_fail"]),
        ("The environment, and whether it is to be believed", ["environ", "getauxval", "secure_getenv"]),
        ("Where the host is, and whether it is needed", ["access", "dladdr", "lstat", "read", "realpath"]),
        // The optimiser makes bcmp of a memcmp that asks for equality alone.
        ("Whether its children are in its PID namespace", ["bcmp", "memcmp", "readlink"]),
        ("Who this is, and whether a fork has made another of it", ["geteuid", "getpid", "madvise"]),
        (
            "Connections",
            [
                "close", "connect", "fcntl", "fstat", "getpeername", "getsockopt", "recv", "sendmsg", "setsockopt",
                "socket",
            ]
        ),
        ("Connections", ["poll", "shutdown", "socketpair"]),
        ("Threads that wait for another one's connection, and times of the log", ["clock_gettime", "usleep"]),
        ("Calls that are not cancelled midway", ["pthread_setcancelstate"]),
        ("The log", ["open", "strdup", "write"]),
        ("The start of the host", ["clone", "mmap", "munmap", "pthread_sigmask", "sigfillset", "waitpid"]),
        ("Between clone and exec", Set(betweenCloneAndExec)),
    ]

    /// Functions whose effects the program would see. They are called only in the module's own process, which has its own tables
    /// of handlers and of descriptors.
    private static let betweenCloneAndExec = ["syscall"]

    @Test func itNeedsTheCLibraryAlone() throws {
        let needed = try lines("readelf", "--wide", "--dynamic").filter { $0.contains("(NEEDED)") }
        #expect(needed.map { $0.last } == ["[libc.so.6]"])
    }

    @Test func itCallsWhatIsKnownAndNothingThatChangesTheProgram() throws {
        // Weak symbols belong to the C runtime, and may be missing.
        let called = try lines("nm", "--dynamic", "--undefined-only").compactMap { line in
            line.first == "U" ? line.last?.split(separator: "@").first.map(String.init) : nil
        }
        let known = ModuleFileTests.calls.reduce(into: Set()) { $0.formUnion($1.names) }
        #expect(called.filter { !known.contains($0) } == [])
        #expect(called.contains("clone"))
    }

    @Test func handlersAndDescriptorsAreChangedBetweenCloneAndExecAlone() throws {
        var function = ""
        var callers: [String: Set<String>] = [:]
        for line in try Self.lines(of: unstripped, ["objdump", "--disassemble", "--no-show-raw-insn"]) {
            if line.count == 2, line[1].hasPrefix("<"), line[1].hasSuffix(">:") { function = line[1] }
            guard let target = line.last, target.hasSuffix("@plt>") else { continue }
            callers[String(target.dropFirst().dropLast(5)), default: []].insert(function)
        }
        for name in ModuleFileTests.betweenCloneAndExec {
            let found = try #require(callers[name], "nothing calls \(name)")
            #expect(
                found.isSubset(of: [
                    "<run_host>:", "<run_between>:", "<close_from>:", "<fail>:", "<stop_ignoring>:",
                ]), "\(name): \(found)")
        }
        #expect(callers["clone"] == ["<tokenkit_start>:", "<run_between>:"])
    }

    /// The only initialiser is the C runtime's own.
    @Test func nothingRunsWhenItIsLoaded() throws {
        let dynamic = try lines("readelf", "--wide", "--dynamic")
        let size = dynamic.first { $0.contains("(INIT_ARRAYSZ)") }
        #expect(size?.suffix(2) == ["8", "(bytes)"])
        let content = try lines("readelf", "--wide", "--hex-dump=.init_array").first {
            $0.first?.hasPrefix("0x") == true
        }
        let words = try #require(content).dropFirst().prefix(2)
        let bytes = words.joined().split(by: 2).reversed().joined()
        let entry = try Self.lines(of: unstripped, ["nm"]).first { $0.last == "frame_dummy" }
        #expect(UInt64(bytes, radix: 16) == UInt64(try #require(entry?.first), radix: 16))
    }

    /// As `make install` strips it, and without what only the compiler reads.
    @Test func itIsSmallAndHasFewRelocations() throws {
        let folder = try TemporaryFolder()
        let stripped = folder.path("module.so")
        let strip = ["strip", "--strip-unneeded", "--remove-section=.swift_ast", "-o", stripped, module]
        try #require(try Program.run(strip).status == 0)
        let size = try #require(FileManager.default.attributesOfItem(atPath: stripped)[.size] as? Int)
        #expect(size <= 150 << 10)
        let relocations = try lines("readelf", "--wide", "--relocs").count { $0.contains { $0.hasPrefix("R_") } }
        #expect(relocations <= 80)
    }

    @Test(arguments: [false, true]) func noFunctionUsesMoreThanEightKilobytesOfTheStack(logs: Bool) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let program = try ModuleProgram.compile("stack", in: folder)
        let result = try ModuleProgram.run(
            program, in: folder, service: holder.daemon.socketPath, logs ? ["TOKENKIT_DEBUG": folder.path("log")] : [:])
        #expect(result.status == 0, "\(result)")
    }
}

extension String {
    fileprivate func split(by count: Int) -> [String] {
        stride(from: 0, to: self.count, by: count).map { String(dropFirst($0).prefix(count)) }
    }
}
