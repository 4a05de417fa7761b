import Foundation
import HostAPI
import HostConnection
import KeychainModel
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// What a client of the face chooses for its requests: readers, modules of other makers, access groups and the trace.
@Suite struct HostOptionsTests {
    private let folder: TemporaryFolder
    private let holder: DaemonWithCard
    private let softHSM: SoftHSM
    private let host: PrivateHost

    init() throws {
        folder = try TemporaryFolder()
        holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        softHSM = try SoftHSM()
        var environment = ModuleProgram.environment(in: folder)
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        host = PrivateHost(environment: environment)
        try ModuleProgram.createKeychain(in: folder, environment)
    }

    /// The variable that leads SoftHSM to its token. Only the client's hello has it.
    private var ofModule: [String: String] {
        let words = softHSM.environment.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(uniqueKeysWithValues: words.map { ($0[0], $0[1]) })
    }

    private func kinds(_ service: any KeychainService) throws -> [KeychainDescription.Kind] {
        try service.keychains(.tokens, RequestContext()).found.map(\.kind)
    }

    private func modules(_ service: any KeychainService) throws -> [String] {
        try service.modules(RequestContext()).map { module in
            switch module.state {
            case .used(let tokens, _): "\(module.name): \(tokens.map(\.label).joined())"
            case .failed: "\(module.name) fails"
            case .leftOut(let reason): "\(module.name): \(reason)"
            }
        }
    }

    // MARK: Readers

    @Test func aReaderIsChosenByAPartOfItsNameOrByItsCardsURI() throws {
        let all = try host.client(HostOptions(modules: .none))
        let card = try #require(try all.keychains(.tokens, RequestContext()).found.first)
        let serial = try #require(card.token?.serialNumber)
        for (reader, isChosen) in [
            ("Virtual", true), ("Nothing", false), ("pkcs11:serial=\(serial)", true), ("pkcs11:serial=0", false),
        ] {
            let service = try host.client(HostOptions(modules: .none, reader: reader))
            #expect(try kinds(service) == (isChosen ? [.card] : []), "\(reader)")
        }
    }

    @Test func withAChosenReaderOnlyNamedModulesAreSearchedAndTokensAreChosenAlike() throws {
        let configured = ofModule.merging(["TOKENKIT_MODULES": SoftHSM.path]) { $1 }
        #expect(try modules(host.client(HostOptions(reader: "Virtual"), configured)) == [])
        #expect(try kinds(host.client(HostOptions(reader: "SoftHSM"), configured)) == [.moduleToken])
        #expect(try kinds(host.client(HostOptions(reader: "pkcs11:token=soft"), configured)) == [.moduleToken])
        let named = HostOptions(modules: .named([SoftHSM.path]), reader: "Virtual")
        #expect(try modules(host.client(named, ofModule)) == ["libsofthsm2: "])
        #expect(try kinds(host.client(named, ofModule)) == [.card])
    }

    @Test func aReadersURIThatCannotBeReadFailsEachRequest() throws {
        let service = try host.client(HostOptions(reader: "pkcs11:serial=%"))
        for _ in 0..<2 { #expect(throws: KeychainError(.param)) { try service.places(RequestContext()) } }
    }

    @Test func rememberedFactsAreUsedUnlessTheClientWantsNone() throws {
        func commands(_ options: HostOptions) throws -> Int {
            let before = holder.link.commandCount
            let found = try host.client(options).items(
                matching: Query(.certificate, limit: .all), RequestContext()
            ).found
            #expect(found.count >= 4)
            return holder.link.commandCount - before
        }
        let first = try commands(HostOptions(modules: .none))
        let recalled = try commands(HostOptions(modules: .none))
        let again = try commands(HostOptions(modules: .none, recalls: false))
        #expect(recalled < first && recalled < again, "\(first), \(recalled), \(again)")
    }

    // MARK: Modules

    @Test func modulesAreThoseOfTheOptionsElseOfTheClientsEnvironment() throws {
        let configured = ofModule.merging(["TOKENKIT_MODULES": SoftHSM.path]) { $1 }
        let wanted = ["libsofthsm2: soft"]
        #expect(try modules(host.client(HostOptions(modules: .named([SoftHSM.path])), ofModule)) == wanted)
        #expect(try modules(host.client(.standard, configured)) == wanted)
        #expect(try modules(host.client(HostOptions(modules: .none), configured)) == [])
        #expect(try modules(host.client(HostOptions(modules: .named([])), configured)) == [])
        #expect(try modules(host.client(.standard, ofModule.merging(["TOKENKIT_MODULES": ""]) { $1 })) == [])
    }

    /// A program with more rights than its user sends no environment.
    @Test func aClientWithoutAnEnvironmentHasNoModules() throws {
        var host = host
        host.command = ["env", "TOKENKIT_MODULES=\(SoftHSM.path)"] + softHSM.environment + host.command
        #expect(try modules(host.client(.standard, nil)) == [])
    }

    @Test func aNameThatP11KitDoesNotHaveFailsEachRequestOfTheClientThatGivesIt() throws {
        let service = try host.client(HostOptions(modules: .named(["nothing"])))
        for _ in 0..<2 {
            let error = #expect(throws: KeychainError.self) { try service.keychains(.files, RequestContext()) }
            #expect(error?.code == .param)
            #expect(
                error.map { "\($0)" }?.hasPrefix(
                    "p11-kit's configuration has no PKCS#11 module 'nothing' "
                        + "(tokenctl list-modules lists what there is; a file needs a slash in its path)") == true)
        }
        let unknown = ["TOKENKIT_MODULES": "nothing"]
        #expect(try modules(host.client(.standard, unknown)) == ["nothing fails"])
    }

    /// The name of the program that p11-kit's configuration goes by is the client's.
    @Test(arguments: [("disable-in", false), ("enable-in", true)])
    func p11KitDecidesByTheProgramOfTheClient(field: String, isUsed: Bool) throws {
        let program = try #require(CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent })
        var host = host
        host.command = P11KitSettings.command(
            host.command, knowing: "soft", "module: \(SoftHSM.path)\n\(field): \(program)", in: folder.path)
        let home = folder.path("home")
        let service = try host.client(
            .standard, ofModule.merging(["HOME": home, "XDG_CONFIG_HOME": home + "/.config"]) { $1 })
        #expect(try modules(service) == [isUsed ? "soft: soft" : "soft: it is disabled in \(program)"])
    }

    /// p11-kit reaches such a module by its name, in the worker, under the name of the client's program.
    @Test func aModuleThatOnlyP11KitReachesIsUsed() throws {
        let program = try #require(CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent })
        var host = host
        host.command = P11KitSettings.command(
            host.command, knowing: "far", "remote: |p11-kit remote \(SoftHSM.path)\nenable-in: \(program)",
            in: folder.path)
        let home = folder.path("home")
        let service = try host.client(
            .standard, ofModule.merging(["HOME": home, "XDG_CONFIG_HOME": home + "/.config"]) { $1 })
        #expect(try modules(service) == ["far: soft"])
    }

    @Test func workersEndWithTheirClient() throws {
        do {
            let service = try host.client(HostOptions(modules: .named([SoftHSM.path])), ofModule)
            #expect(try modules(service) == ["libsofthsm2: soft"])
            #expect(try softHSM.workers.count == 1)
        }
        #expect(try eventually { try softHSM.workers.isEmpty })
    }

    @Test func clientsOfASharedHostHaveOneWorker() throws {
        let shared = SessionHost(in: folder, host.environment)
        try shared.start()
        defer { shared.stop() }
        let variables = host.environment.merging(ofModule) { $1 }.map { Array("\($0)=\($1)".utf8) }
        let options = HostOptions(modules: .named([SoftHSM.path]))
        func client() -> any KeychainService {
            SocketClient(
                of: [.session(folder.path)], prompter: PrivateHost.TypesPIN(), environment: variables, options: options
            ).service
        }
        let other = client()
        do {
            let service = client()
            for service in [service, other] { #expect(try modules(service) == ["libsofthsm2: soft"]) }
            #expect(try softHSM.workers.count == 1)
        }
        #expect(try modules(other) == ["libsofthsm2: soft"])
        let worker = try #require(softHSM.workers.first)
        let limits = try #require(FileManager.default.contents(atPath: "/proc/\(worker)/limits"))
        #expect(String(decoding: limits, as: UTF8.self).contains(#/Max open files +1024 /#))
    }

    @Test func aKeyOfAModuleSignsWithItsTokensPIN() throws {
        try softHSM.run([
            "pkcs11-tool", "--module", SoftHSM.path, "--login", "--pin", "123456", "--keypairgen", "--key-type",
            "EC:prime256v1", "--id", "01", "--label", "one",
        ])
        let options = HostOptions(modules: .named([SoftHSM.path]), reader: "SoftHSM")
        let service = try host.client(options, ofModule)
        let key = try #require(try service.keys(matching: KeyQuery(.name("01")), RequestContext()).found.first)
        let digest = [UInt8](repeating: 7, count: 32)
        let request = KeyRequest(.sign(digest), .signature(.ecdsa(.sha256)), with: key.item.reference)
        let signature = try service.perform(request, RequestContext(questions: .byClient)).secret.copied()
        #expect(try PublicKey(spki: key.publicKey).verify(signature, digest: digest, using: .ecdsa(.sha256)))
    }

    // MARK: Access groups

    @Test func accessGroupsAreThoseOfTheOptionsElseOfTheClientsEnvironment() throws {
        func groups(_ options: HostOptions, _ variables: [String: String] = [:]) throws -> Bool {
            let query = try Query(.genericPassword, [.service: "mail"], limit: .all)
            return try !host.client(options, variables).items(matching: query, RequestContext()).found.isEmpty
        }
        let service = try host.client(HostOptions(modules: .none, accessGroups: AccessGroups(["mail"])))
        let attributes = ItemAttributes<GenericPasswords>().setting(.service, "mail").setting(.account, "anna")
        let password = Array("open".utf8)
        let context = RequestContext(credentials: [.init(.password, Secret(copying: password.span))])
        let file = try #require(try service.keychains(.files, RequestContext()).found.first)
        try service.unlock(file.identifier, for: nil, context)
        _ = try service.add(.genericPassword(attributes, secret: Secret(copying: Array("s3cret".utf8).span)), to: nil)
        #expect(try groups(HostOptions(accessGroups: AccessGroups(["mail"]))))
        #expect(try !groups(HostOptions(accessGroups: AccessGroups(["web"]))))
        #expect(try groups(.standard))
        #expect(try groups(.standard, ["TOKENKIT_ACCESS_GROUPS": "web:mail"]))
        #expect(try !groups(.standard, ["TOKENKIT_ACCESS_GROUPS": "web"]))
        let option = HostOptions(accessGroups: AccessGroups(["mail"]))
        #expect(try groups(option, ["TOKENKIT_ACCESS_GROUPS": "web"]))
    }

    // MARK: Traces

    @Test func theTraceHasTheCommandsToTheCardWithoutThePIN() throws {
        let service = try host.client(HostOptions(modules: .none), trace: folder.path("trace"))
        let identity = try #require(try service.identities(.identities.where(.canSign, true)).found.first)
        let digest = [UInt8](repeating: 7, count: 32)
        let request = KeyRequest(.sign(digest), .signature(.ecdsa(.sha256)), with: identity.key.reference)
        _ = try service.perform(request, RequestContext(questions: .byClient))
        let lines = String(decoding: try folder.read("trace"), as: UTF8.self).split(separator: "\n")
        #expect(lines.contains("> 00200080 Lc 8 [8 bytes]"))
        #expect(lines.allSatisfy { $0.hasPrefix("> ") || $0.hasPrefix("< ") } && lines.count.isMultiple(of: 2))
        #expect(!lines.contains { $0.contains("313233343536") })
    }

    @Test func aSharedHostTracesForNobody() throws {
        let shared = SessionHost(in: folder, host.environment)
        try shared.start()
        defer { shared.stop() }
        let trace = open(folder.path("trace"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let variables = host.environment.map { Array("\($0)=\($1)".utf8) }
        let service = SocketClient(
            of: [.session(folder.path)], prompter: PrivateHost.TypesPIN(), environment: variables, trace: trace
        ).service
        #expect(throws: KeychainError(.notAvailable)) { try service.keychains(.tokens, RequestContext()) }
        #expect(try folder.read("trace").isEmpty)
    }
}
