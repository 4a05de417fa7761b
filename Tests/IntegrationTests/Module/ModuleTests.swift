import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module as programs load it, which here are in C: each says itself what is not as it must be.
@Suite struct ModuleTests {
    private let folder: TemporaryFolder
    private let module = Program.products + "/libtokenkit-pkcs11.so"

    init() throws {
        folder = try TemporaryFolder()
    }

    private var environment: [String: String] {
        var variables: [String: String] = [:]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            variables[name] = folder.path
        }
        return variables
    }

    private func compile(_ name: String, of place: String = "ModulePrograms", _ options: [String] = []) throws -> String
    {
        let root = Program.packageRoot.path
        let program = folder.path(name)
        let symbols = try Program.run(["nm", "--dynamic", "--undefined-only", module])
        let result = try Program.run(
            ["clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", root + "/Sources/CCryptoki/include"]
                + (symbols.text.contains("__asan_init") ? ["-fsanitize=address"] : [])
                + options + [root + "/Tests/\(place)/\(name).c", "-ldl", "-lpthread", "-o", program])
        try #require(result.status == 0, "\(result)")
        return program
    }

    /// Runs a program with the card in the reader of a service, or without a service.
    private func run(_ name: String, with holder: DaemonWithCard? = nil) throws {
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder?.daemon.socketPath ?? folder.path("none")
        let result = try Program.run([compile(name), module], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    private func holder() throws -> DaemonWithCard {
        try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
    }

    @Test func onlyTheThreeFunctionsThatGiveOutTheOthersAreExported() throws {
        let symbols = try Program.run(["nm", "--dynamic", "--defined-only", "--extern-only", module])
        let functions = symbols.text.split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map(String.init)
        }
        #expect(functions.sorted() == ["C_GetFunctionList", "C_GetInterface", "C_GetInterfaceList"])
    }

    @Test func everyFunctionIsThereAndSaysSoWhereItIsNotOffered() throws { try run("lists") }

    @Test func itIsInitialisedUnloadedAndEndedInAnyOrder() throws {
        // With a keychain, which is a file that is opened.
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = folder.path("none")
        let create = "umask 077; cd '\(folder.path)' && echo open >password && exec '\(Program.products)/tokenctl' "
        let made = try Program.run(
            ["sh", "-c", create + "create-keychain --pin-source file:password"], environment: environment)
        #expect(made.status == 0, "\(made)")
        try run("lifetime")
    }

    @Test func programsThatForkKeepTheirCard() throws { try run("fork", with: holder()) }

    /// `make fuzz` finds more of these.
    @Test func hostileCallsInAnyOrderEndNoProgram() throws {
        let holder = try holder()
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let seeds = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/module")
        let files = try FileManager.default.contentsOfDirectory(at: seeds, includingPropertiesForKeys: nil).map(\.path)
        try #require(!files.isEmpty)
        let program = try compile("entrypoints", of: "Fuzz/Module", ["-DSTANDALONE"])
        let result = try Program.run([program, module] + files.sorted(), environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func hostileArgumentsHaveTheirReturnValues() throws { try run("hostile", with: holder()) }

    @Test func aWaitIsEndedByACardThatGoesAndByTheEndOfTheModule() throws {
        let holder = try holder()
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let program = try compile("events")
        let out = folder.path("out")
        Thread {
            // The program says when it waits.
            while (try? String(contentsOfFile: out, encoding: .utf8))?.contains("waiting") != true { usleep(10_000) }
            usleep(200_000)
            holder.link.remove()
        }.start()
        let result = try Program.run(["sh", "-c", "\(program) \(module) > \(out)"], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func theLogTellsReturnValuesAndReasonsAndNoPIN() throws {
        let log = folder.path("log")
        var environment = environment
        environment["TOKENKIT_DEBUG"] = log
        let holder = try holder()
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let tool = ["pkcs11-tool", "--module", module, "--login", "--list-objects", "--pin"]
        _ = try Program.run(tool + ["987654"], environment: environment)
        _ = try Program.run(tool + ["123456"], environment: environment)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("C_Initialize CKR_OK"))
        #expect(text.contains("C_Login CKR_PIN_INCORRECT: presenting the PIN"))
        #expect(!text.contains("987654") && !text.contains("123456"))
        let attributes = try FileManager.default.attributesOfItem(atPath: log)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
