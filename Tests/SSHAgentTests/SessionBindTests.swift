import SystemCrypto
import TestSupport
import Testing

@testable import SSHAgent

/// The SSH connections that a connection to the agent belongs to, and what keys with constraints may do there.
@Suite struct SessionBindTests {
    private let build: PrivateKey
    private let shop: PrivateKey
    private let buildKey: [UInt8]
    private let shopKey: [UInt8]

    init() throws {
        (build, shop) = (try PrivateKey.generate(.ed25519), try PrivateKey.generate(.ecP256))
        (buildKey, shopKey) = (try build.publicKey.openSSH(), try shop.publicKey.openSSH())
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519])
    func aMachineProvesItsKey(kind: KeyKind) throws {
        try expectProof(Samples.bind(PrivateKey.generate(kind), session: [1, 2, 3]))
    }

    @Test(arguments: [KeyKind.ecP256, .ed25519])
    func aMachineProvesItsKeyInASecurityKey(kind: KeyKind) throws {
        let key = try Samples.SecurityKey(kind)
        try expectProof(Samples.bind(key.blob, key.sign([1, 2, 3]), session: [1, 2, 3]))
        let name = kind == .ed25519 ? "ED25519-SK" : "ECDSA-SK"
        #expect(SSHPublicKey(key.blob)?.description == "\(name) \(SSHPublicKey.fingerprint(of: key.blob))")
        // The key outside a security key does not stand in for it, nor the reverse.
        let other = try key.key.publicKey.openSSH()
        let bare = try #require(SSHPublicKey(other))
        #expect(try !bare.verify(key.sign([1]), of: [1]))
        #expect(try !ConnectionBinds().bind(Samples.bind(key.blob, key.sign([1]), session: [2])))
        #expect(throws: MalformedMessage.self) {
            var message: [UInt8] = []
            NewIdentity(kind: Array(key.kind.utf8), fields: [], comment: []).append(to: &message)
            var rest = message.span
            _ = try NewIdentity(&rest)
        }
    }

    /// OpenSSH's own program reads the signatures with which these tests prove keys.
    @Test(arguments: [KeyKind.ecP256, .ed25519])
    func openSSHTakesTheSamplesOfSecurityKeys(kind: KeyKind) throws {
        let (key, folder) = (try Samples.SecurityKey(kind), try TemporaryFolder())
        var subject: [UInt8] = []
        subject.append(string: "file")
        subject.append(string: [])
        subject.append(string: "sha256")
        var signed = Array("SSHSIG".utf8) + subject
        signed.append(string: try Digest.hash(Array("message".utf8), using: .sha256))
        var file = Array("SSHSIG".utf8) + [0, 0, 0, 1]
        file.append(string: key.blob)
        file += subject
        let signature = try key.sign(signed)
        file.append(string: signature)
        #expect(SSHPublicKey(key.blob)?.verify(signature, of: signed) == true)
        let path = try folder.write(
            "sig", "-----BEGIN SSH SIGNATURE-----\n\(Base64.encode(file))\n-----END SSH SIGNATURE-----\n")
        let check = ["ssh-keygen", "-Y", "check-novalidate", "-n", "file", "-s", path]
        let result = try Program.run(check, input: Array("message".utf8))
        #expect(result.status == 0, "\(result)")
    }

    private func expectProof(_ content: [UInt8]) throws {
        let binds = ConnectionBinds()
        #expect(binds.bind(content))
        #expect(binds.bind(content) == false, "nothing follows a login")
        for index in content.indices {
            let other = ConnectionBinds()
            var changed = content
            changed[index] ^= 0x04
            #expect(!other.bind(changed), "\(index)")
            #expect(!other.bind(Array(content[..<index])))
            #expect(other.value.binds.isEmpty)
        }
    }

    @Test func aSessionIsOneMachines() throws {
        let binds = ConnectionBinds()
        let first = try Samples.bind(build, session: [1], isForwarding: true)
        #expect(binds.bind(first))
        #expect(binds.bind(first))
        #expect(try !binds.bind(Samples.bind(shop, session: [1], isForwarding: true)))
        #expect(binds.value.binds.count == 1)
        for number in 2...16 as ClosedRange<UInt8> {
            #expect(try binds.bind(Samples.bind(shop, session: [number], isForwarding: true)))
        }
        #expect(try !binds.bind(Samples.bind(shop, session: [17])))
        #expect(try !binds.bind(Samples.bind(shop, session: [UInt8](repeating: 0, count: 129))))
    }

    /// Each machine on the way can send requests in the name of the last one.
    @Test func theOriginOfRequestsIsAllMachinesOnTheWay() throws {
        let binds = ConnectionBinds()
        #expect(binds.value.originID == nil)
        #expect(try binds.bind(Samples.bind(build, session: [1], isForwarding: true)))
        let first = SSHPublicKey.fingerprint(of: buildKey)
        #expect(binds.value.originID == first)
        #expect(try binds.bind(Samples.bind(shop, session: [2], isForwarding: true)))
        #expect(binds.value.originID == "\(first) \(SSHPublicKey.fingerprint(of: shopKey))")
        #expect(!binds.bind([1]))
        #expect(binds.value.originID == nil)
        let direct = ConnectionBinds()
        #expect(try direct.bind(Samples.bind(shop, session: [2])))
        #expect(direct.value.originID == nil)
        #expect(try !direct.bind(Samples.bind(build, session: [1], isForwarding: true)))
        #expect(direct.value.isForwarded && direct.value.originID == nil)
        // The machine stays the same with a certificate; a login at the end of the way is no part of it.
        let certified = ConnectionBinds()
        let certificate = try Samples.certificate(of: build, by: shop, principals: ["build7"])
        #expect(try certified.bind(Samples.bind(build, certificate: certificate, session: [1], isForwarding: true)))
        #expect(try certified.bind(Samples.bind(shop, session: [2])))
        #expect(certified.value.originID == first)
    }

    @Test func anAttemptToForwardCountsWithoutAProof() throws {
        let binds = ConnectionBinds()
        var content = try Samples.bind(build, session: [1], isForwarding: true)
        content[content.count - 3] ^= 1
        #expect(!binds.bind(content))
        #expect(binds.value.isForwarded)
        #expect(binds.value.wasAttempted)
    }

    /// The machine in between has a host key of a kind that is unknown here. It could pass itself over.
    @Test func aMachineThatIsMissingAmongTheBindsUsesNoKeyWithDestinations() throws {
        let toShop = [DestinationConstraint(from: .init(), to: .init(host: [0x61], keys: [.init(shopKey)]))]
        let login = SignedData(Samples.login(session: [2], key: [1], hostKey: shopKey))
        for unknown in [[], Array("an unknown form".utf8)] as [[UInt8]] {
            let binds = ConnectionBinds()
            #expect(!binds.bind(unknown))
            #expect(binds.value.isForwarded)
            #expect(try binds.bind(Samples.bind(shop, session: [2])))
            #expect(!binds.mayList(toShop) && !binds.maySign(toShop, login))
        }
        let direct = ConnectionBinds()
        #expect(try direct.bind(Samples.bind(shop, session: [2])))
        #expect(direct.mayList(toShop) && direct.maySign(toShop, login))
    }

    /// A comparison takes the product of both lengths.
    @Test func usersAndPatternsOfThemAreShort() throws {
        var hop = DestinationConstraint.Hop(host: [0x61], keys: [.init(shopKey)])
        for (count, isRefused) in [(1024, false), (1025, true)] {
            hop.user = [UInt8](repeating: 0x2A, count: count)
            var message: [UInt8] = []
            KeyConstraint.destinations([DestinationConstraint(from: .init(), to: hop)]).append(to: &message)
            var rest = message.span
            #expect(((try? KeyConstraint.all(&rest)) == nil) == isRefused)
        }
    }

    @Test func constraintsThatAreThereTwiceOrAllowNothingAreMalformed() throws {
        let destination = KeyConstraint.destinations([
            DestinationConstraint(from: .init(), to: .init(host: [0x61], keys: [.init(shopKey)]))
        ])
        for constraint in [KeyConstraint.lifetime(seconds: 1), .confirmation, destination] {
            var message: [UInt8] = []
            constraint.append(to: &message)
            var once = message.span
            #expect(try KeyConstraint.all(&once) == [constraint])
            constraint.append(to: &message)
            #expect(throws: MalformedMessage.self) {
                var twice = message.span
                _ = try KeyConstraint.all(&twice)
            }
        }
        #expect(throws: MalformedMessage.self) {
            var message: [UInt8] = []
            KeyConstraint.destinations([]).append(to: &message)
            var rest = message.span
            _ = try KeyConstraint.all(&rest)
        }
    }

    @Test func aLoginBelongsToTheLastMachine() throws {
        func login(_ session: [UInt8], _ hostKey: [UInt8]?) throws -> SignedData.Login {
            guard case .login(let login) = SignedData(Samples.login(session: session, key: [1], hostKey: hostKey))
            else {
                throw MalformedMessage()
            }
            return login
        }
        let binds = ConnectionBinds()
        #expect(try binds.value.admit(login([9], nil)))
        #expect(try binds.bind(Samples.bind(build, session: [1], isForwarding: true)))
        #expect(try binds.bind(Samples.bind(shop, session: [2])))
        #expect(try binds.value.admit(login([2], shopKey)))
        #expect(try !binds.value.admit(login([2], buildKey)))
        #expect(try !binds.value.admit(login([1], buildKey)))
        #expect(try !binds.value.admit(login([9], shopKey)))
        #expect(try !binds.value.admit(login([2], nil)))
        let local = ConnectionBinds()
        #expect(try local.bind(Samples.bind(shop, session: [2])))
        #expect(try local.value.admit(login([2], nil)))
    }

    @Test func aKeyGoesWhereItMay() throws {
        let toBuild = DestinationConstraint(
            from: .init(), to: .init(user: Array("j*".utf8), host: [0x62], keys: [.init(buildKey)]))
        let onToShop = DestinationConstraint(
            from: .init(host: [0x62], keys: [.init(buildKey)]), to: .init(host: [0x73], keys: [.init(shopKey)]))
        func sign(_ session: [UInt8], _ user: String, _ hostKey: [UInt8]) -> SignedData {
            SignedData(Samples.login(session: session, user: user, key: [1], hostKey: hostKey))
        }
        #expect(SessionBinds().mayList([toBuild]))
        #expect(!SessionBinds().maySign([toBuild], sign([1], "jo", buildKey)))

        let direct = ConnectionBinds()
        #expect(try direct.bind(Samples.bind(build, session: [1])))
        #expect(direct.mayList([toBuild]))
        #expect(direct.maySign([toBuild], sign([1], "jo", buildKey)))
        #expect(!direct.maySign([toBuild], sign([1], "root", buildKey)))
        #expect(!direct.maySign([onToShop], sign([1], "jo", buildKey)))
        #expect(!direct.maySign([toBuild], SignedData(Samples.fileSignature(namespace: "git"))))
        #expect(!direct.maySign([toBuild], SignedData([1, 2, 3])))

        let forwarded = ConnectionBinds()
        #expect(try forwarded.bind(Samples.bind(build, session: [1], isForwarding: true)))
        #expect(!forwarded.mayList([toBuild]), "the key may not be used beyond the machine")
        #expect(forwarded.mayList([toBuild, onToShop]))
        #expect(!forwarded.maySign([toBuild, onToShop], sign([1], "jo", buildKey)), "the machine signs in nowhere yet")
        #expect(try forwarded.bind(Samples.bind(shop, session: [2])))
        #expect(forwarded.maySign([toBuild, onToShop], sign([2], "root", shopKey)))
        #expect(!forwarded.maySign([toBuild], sign([2], "root", shopKey)))
        #expect(!forwarded.maySign([onToShop], sign([2], "root", shopKey)))

        let failed = ConnectionBinds()
        #expect(!failed.bind([1]))
        #expect(!failed.mayList([toBuild]))
        let authority = DestinationConstraint(
            from: .init(), to: .init(host: [0x62], keys: [.init(buildKey, isAuthority: true)]))
        #expect(!direct.mayList([authority]), "the key itself is no certificate of its")
    }

    @Test(arguments: [
        ("jo", "jo", true), ("jo", "j?", true), ("jo", "*", true), ("", "*", true), ("", "", true), ("jo", "", false),
        ("jo", "j", false), ("jo", "?", false), ("build7.example", "b*7.*e", true), ("aaab", "*a*b", true),
        ("aaa", "*a*b", false), ("j", "j?", false),
    ])
    func patternsAreThoseOfOpenSSH(text: String, pattern: String, matches: Bool) {
        #expect(Pattern.matches(Array(text.utf8)[...], Array(pattern.utf8)[...]) == matches)
    }
}
