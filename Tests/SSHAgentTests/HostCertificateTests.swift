import SystemCrypto
import Testing

@testable import SSHAgent

/// Machines that show certificates of their keys.
@Suite struct HostCertificateTests {
    private let host: PrivateKey
    private let authority: PrivateKey
    private let hostKey: [UInt8]
    private let authorityKey: [UInt8]

    init() throws {
        (host, authority) = (try PrivateKey.generate(.ed25519), try PrivateKey.generate(.ecP256))
        (hostKey, authorityKey) = (try host.publicKey.openSSH(), try authority.publicKey.openSSH())
    }

    private func certificate(
        _ principals: String..., by other: PrivateKey? = nil, type: UInt32 = 2,
        valid: ClosedRange<UInt64> = 0...UInt64.max, options: [UInt8] = []
    ) throws -> [UInt8] {
        try Samples.certificate(
            of: host, by: other ?? authority, principals: principals, type: type, valid: valid, options: options)
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP384, .ed25519])
    func aCertificateIsItsAuthoritys(kind: KeyKind) throws {
        let (key, by) = (try PrivateKey.generate(kind), try PrivateKey.generate(kind))
        let bytes = try Samples.certificate(of: key, by: by, principals: ["build7", "b.example"])
        let read = try #require(HostCertificate(bytes))
        #expect(try read.authority == by.publicKey.openSSH())
        #expect(read.principals.map { String(decoding: $0, as: UTF8.self) } == ["build7", "b.example"])
        #expect(read.isValid())
        for index in stride(from: 0, to: bytes.count, by: 3) {
            var changed = bytes
            changed[index] ^= 0x04
            #expect(HostCertificate(changed) == nil, "\(index)")
            #expect(HostCertificate(Array(bytes[..<index])) == nil)
        }
        #expect(HostCertificate(bytes + [0]) == nil)
        #expect(try HostCertificate(key.publicKey.openSSH()) == nil)
    }

    @Test func aCertificateIsOfAMachineAndOfItsTime() throws {
        let now: UInt64 = 1_000
        func isValid(_ bytes: [UInt8]) throws -> Bool { try #require(HostCertificate(bytes)).isValid(at: now) }
        #expect(try isValid(certificate("a", valid: 1_000...1_001)))
        #expect(try !isValid(certificate("a", valid: 1_001...2_000)))
        #expect(try !isValid(certificate("a", valid: 0...1_000)))
        #expect(try !isValid(certificate("a", type: 1)))
        #expect(try !isValid(certificate("a", options: [0, 0, 0, 1, 0x61, 0, 0, 0, 0])))
    }

    @Test func aBoundCertificateProvesItsKeyAndItsAuthority() throws {
        let binds = ConnectionBinds()
        #expect(try binds.bind(Samples.bind(host, certificate: certificate("build7"), session: [1])))
        var changed = try certificate("build7")
        changed[changed.count - 1] ^= 1
        let failed = ConnectionBinds()
        #expect(try !failed.bind(Samples.bind(host, certificate: changed, session: [1])))
        #expect(failed.value.hasFailed)
        #expect(try !ConnectionBinds().bind(Samples.bind(authority, certificate: certificate("a"), session: [1])))
    }

    /// The rules are those of OpenSSH's agent, `match_key_hop`.
    @Test func aKeyGoesToMachinesThatAnAuthorityCertifies() throws {
        func to(_ host: String, _ keys: DestinationConstraint.HostKey...) -> [DestinationConstraint] {
            [DestinationConstraint(from: .init(), to: .init(host: Array(host.utf8), keys: keys))]
        }
        let byAuthority = DestinationConstraint.HostKey(authorityKey, isAuthority: true)
        func mayUse(_ constraints: [DestinationConstraint], _ certificate: [UInt8]?) throws -> Bool {
            let binds = ConnectionBinds()
            let bound = certificate ?? hostKey
            #expect(try binds.bind(Samples.bind(host, certificate: bound, session: [1])))
            let login = SignedData(Samples.login(session: [1], key: [2], hostKey: bound))
            let maySign = binds.maySign(constraints, login)
            #expect(binds.mayList(constraints) == maySign)
            return maySign
        }
        #expect(try mayUse(to("build7", byAuthority), certificate("other", "build7")))
        #expect(try mayUse(to("build7", .init([1]), byAuthority), certificate("build*")))
        #expect(try mayUse(to("build7", byAuthority), certificate()), "a certificate without names is for any machine")
        #expect(try !mayUse(to("build7", byAuthority), certificate("build8")))
        #expect(
            try !mayUse(to("build*", byAuthority), certificate("build7")), "the names are patterns, the host is not")
        #expect(try !mayUse(to("build7", byAuthority), certificate("build7", type: 1)))
        #expect(try !mayUse(to("build7", byAuthority), certificate("build7", valid: 0...1)))
        #expect(try !mayUse(to("build7", byAuthority), certificate("build7", by: host)))
        #expect(try !mayUse(to("build7", byAuthority), nil))
        #expect(try !mayUse(to("build7", .init(authorityKey)), certificate("build7")))
        #expect(try !mayUse(to("build7", .init(hostKey)), certificate("build7")))
        #expect(try !mayUse(to("build7", .init(certificate("build7"))), certificate("build7")))
        #expect(try mayUse(to("build7", .init(hostKey)), nil))
    }

    @Test func aCertifiedMachineHasTheNameThatALineGrantsItsAuthority() throws {
        func name(_ lines: String..., of certificate: [UInt8]) -> String? {
            let text = lines.map { $0 + " ecdsa-sha2-nistp256 \(Base64.encode(authorityKey))\n" }.joined()
            return KnownHosts(Array(text.utf8)).name(of: certificate)
        }
        let bytes = try certificate("*", "a.test", "build7.example")
        #expect(name("@cert-authority *.example", of: bytes) == "build7.example")
        #expect(name("@cert-authority [*.example]:2222", of: bytes) == "build7.example")
        #expect(name("@cert-authority *", of: bytes) == "a.test")
        #expect(name("@cert-authority *,!a.test", of: bytes) == "build7.example")
        #expect(name("@cert-authority *.org", "build7.example", "@cert-authority |1|salt|hash", of: bytes) == nil)
        #expect(name("@cert-authority *", "@revoked *", of: bytes) == nil)
        #expect(try name("@cert-authority *", of: certificate("a.test", by: host)) == nil)
        #expect(try name("@cert-authority *", of: certificate("a.test", type: 1)) == nil)
        #expect(try name("@cert-authority *", of: certificate("a\n.test")) == #"a\0A.test"#)
        #expect(name("a.test", of: authorityKey) == "a.test")
    }
}
