import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module in programs with another allocator, under valgrind and with the address sanitizer; with a card and a keychain.
@Suite struct HostProgramTests {
    private let folder: TemporaryFolder
    private let holder: DaemonWithCard
    private let environment: [String: String]

    /// Two private keys of the card, and two of the keychain.
    private static let keyCount = "4"

    init() throws {
        folder = try TemporaryFolder()
        var builder = VirtualCardBuilder(profile: .yubiKey57)
        builder.keys[.authentication] = .init(.p256)
        builder.keys[.keyManagement] = .init(.rsa2048)
        holder = try DaemonWithCard(builder.build())
        environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment, password: "123456")
        for key in ["rsa:2048", "ec -pkeyopt ec_paramgen_curve:P-256"] {
            let made = try Program.run(
                [
                    "sh", "-euc",
                    """
                    cd '\(folder.path)'
                    openssl req -x509 -newkey \(key) -nodes -subj /CN=Jo -keyout key.pem -out certificate.pem
                    for file in key certificate; do
                        '\(Program.command)' import --pin-source file:password $file.pem
                    done
                    """,
                ], environment: environment)
            try #require(made.status == 0, "\(made)")
        }
    }

    /// Scudo is the hardened allocator of LLVM, and comes with the compiler.
    @Test(arguments: ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so", "scudo"])
    func programsWithAnotherAllocatorUseTheModuleAndFork(library: String) throws {
        let library = try library == "scudo" ? scudo : library
        let everyday = try ModuleProgram.compile("everyday", in: folder)
        let fork = try ModuleProgram.compile("fork", in: folder)
        let preload = environment.merging(["LD_PRELOAD": library]) { $1 }
        let cards = preload.merging(["TOKENKIT_PKCS11_TOKENS": "cards"]) { $1 }
        let used = try Program.run([everyday, ModuleProgram.module, Self.keyCount, "2"], environment: preload)
        // If the loader does not find the library, it warns on standard error.
        #expect(used.description == "exit 0\n")
        let forked = try Program.run([fork, ModuleProgram.module], environment: cards)
        #expect(forked.description == "exit 0\n")
    }

    private var scudo: String {
        get throws {
            let machine = try Program.run(["uname", "-m"]).text.trimmingCharacters(in: .whitespacesAndNewlines)
            let name = "lib/linux/libclang_rt.scudo_standalone-\(machine).so"
            let path = try Program.run(["clang", "--print-file-name=" + name]).text
            return path.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// glibc's own checks: each block is filled with a byte other than zero when it is allocated, and with another when it is freed.
    @Test(arguments: [
        ["MALLOC_PERTURB_": "165"],
        ["GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.perturb=90", "LD_PRELOAD": "libc_malloc_debug.so.0"],
    ])
    func programsWithAHardenedAllocatorUseTheModule(variables: [String: String]) throws {
        let everyday = try ModuleProgram.compile("everyday", in: folder)
        let hardened = environment.merging(variables) { $1 }
        let used = try Program.run([everyday, ModuleProgram.module, Self.keyCount, "2"], environment: hardened)
        #expect(used.description == "exit 0\n")
    }

    /// The module is stripped, as the installed one: valgrind of Debian 12 cannot read the debug information that clang writes.
    @Test func valgrindFindsNothing() throws {
        let module = folder.path("libtokenkit-pkcs11.so")
        try ModuleProgram.copy(to: module)
        try #require(try Program.run(["strip", "--strip-debug", module]).status == 0)
        let program = try ModuleProgram.compile("everyday", ["-g0"], in: folder)
        let result = try Program.run(
            [
                "valgrind", "--error-exitcode=99", "--leak-check=full", program, module, Self.keyCount,
            ], environment: environment)
        #expect(result.status == 0, "\(result)")
        // One summary is the program's, the other that of its child, which starts the host.
        let summaries = result.description.split(separator: "\n").filter { $0.contains("ERROR SUMMARY: ") }
        #expect(summaries.count == 2)
        #expect(summaries.allSatisfy { $0.contains("ERROR SUMMARY: 0 errors") }, "\(result)")
    }

    @Test func theAddressSanitizerFindsNothing() throws {
        let program = try ModuleProgram.compile("everyday", ["-fsanitize=address"], in: folder)
        let result = try Program.run(
            [program, ModuleProgram.module, Self.keyCount, "3"],
            environment: environment.merging(["ASAN_OPTIONS": "detect_leaks=1"]) { $1 })
        #expect(result.description == "exit 0\n")
    }
}
