import Foundation
import TestSupport
import Testing
import VirtualCard

/// The module in C programs, which load it as others do. Each program reports its failed checks itself.
@Suite struct ModuleTests {
    private let folder: TemporaryFolder
    private let module = ModuleProgram.module

    init() throws {
        folder = try TemporaryFolder()
    }

    private var environment: [String: String] { ModuleProgram.environment(in: folder) }

    /// Runs a program with the card in the reader of a service, or without a service.
    private func run(_ name: String, _ options: [String] = [], with holder: DaemonWithCard? = nil) throws {
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder?.daemon.socketPath ?? folder.path("none")
        let program = try ModuleProgram.compile(name, options, in: folder)
        let result = try Program.run([program, module], environment: environment)
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
        try run("lifetime")
        // With a keychain, for which the module opens a file.
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = folder.path("none")
        try ModuleProgram.createKeychain(in: folder, environment)
        try run("lifetime")
    }

    @Test func threadsThatInitialiseItAtOnceAllFindItInitialised() throws { try run("initialise") }

    @Test(arguments: [[], ["-rdynamic", "-DMADVISE_FAILS"]]) func programsThatForkKeepTheirCard(options: [String])
        throws
    {
        try run("fork", options, with: holder())
    }

    /// `make fuzz` finds further inputs.
    @Test func hostileCallsInAnyOrderEndNoProgram() throws {
        let holder = try holder()
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let seeds = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds/module")
        let files = try FileManager.default.contentsOfDirectory(at: seeds, includingPropertiesForKeys: nil).map(\.path)
        try #require(!files.isEmpty)
        let program = try ModuleProgram.compile("entrypoints", of: "Fuzz/Module", ["-DSTANDALONE"], in: folder)
        let result = try Program.run([program, module] + files.sorted(), environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func withoutACardServiceAndAKeychainThereIsNoHost() throws { try run("nohost") }

    @Test func aProgramWithoutHOMEStartsNoHostWhereItsUserHasNoKeychain() throws {
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = folder.path("none")
        environment["XDG_RUNTIME_DIR"] = nil
        let program = try ModuleProgram.compile("homeless", ["-rdynamic"], in: folder)
        let words = [program, module, folder.path("home")].map { "'\($0)'" }.joined(separator: " ")
        let result = try Program.run(["sh", "-c", "cd '\(folder.path)' && exec \(words)"], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aListingAsksTheHostOnceForEachObject() throws { try runWithKeychain("reads") }

    @Test func aProgramGrowsByLittle() throws { try runWithKeychain("resident") }

    @Test func signaturesOfOneKindCostOneMessageEach() throws { try runWithKeychain("begins") }

    /// Runs a program that counts the module's messages, with a keychain and without a card service.
    private func runWithKeychain(_ name: String) throws {
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = folder.path("none")
        try ModuleProgram.createKeychain(in: folder, environment)
        let program = try ModuleProgram.compile(name, ["-rdynamic"], in: folder)
        let result = try Program.run([program, module], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func hostileArgumentsHaveTheirReturnValues() throws { try run("hostile", with: holder()) }

    @Test func aWaitIsEndedByACardThatGoesAndByTheEndOfTheModule() throws {
        let holder = try holder()
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let program = try ModuleProgram.compile("events", in: folder)
        let out = folder.path("out")
        Thread {
            // The program prints "waiting" when it waits.
            while (try? String(contentsOfFile: out, encoding: .utf8))?.contains("waiting") != true { usleep(10_000) }
            usleep(200_000)
            holder.link.remove()
        }.start()
        let result = try Program.run(["sh", "-c", "\(program) \(module) > \(out)"], environment: environment)
        #expect(result.status == 0, "\(result)")
    }

    @Test func noCallWaitsForThreadsThatWaitForACard() throws {
        let holder = try holder()
        let program = try ModuleProgram.compile("waits", in: folder)
        let result = try ModuleProgram.run(program, in: folder, service: holder.daemon.socketPath) { _ in
            holder.link.remove()
        }
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
        #expect(text.contains("C_Login CKR_PIN_INCORRECT: wrong PIN"))
        #expect(!text.contains("987654") && !text.contains("123456"))
        let attributes = try FileManager.default.attributesOfItem(atPath: log)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
