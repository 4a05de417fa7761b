import Foundation
import Security
import SystemCrypto
import Testing

/// A small authority, which issues certificates.
private struct Authority {
    let key: PrivateKey
    let root: SystemCrypto.Certificate

    init(_ name: String = "Root") throws {
        key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 4_000_000_000)
        builder.isCA = true
        root = try builder.selfSigned(by: key)
    }

    func issue(
        _ name: String, names: [GeneralName] = [], purposes: [OID] = [.serverAuthentication],
        until: Int64 = 4_000_000_000
    ) throws -> SecCertificate {
        let own = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: name, publicKey: own.publicKey, notBefore: 1_600_000_000, notAfter: until)
        builder.subjectAlternativeNames = names
        builder.extendedKeyUsage = purposes
        let issued = try builder.issued(by: root, key: key)
        return try #require(SecCertificateCreateWithData(nil, Data(issued.der)))
    }

    var anchor: SecCertificate {
        get throws { try #require(SecCertificateCreateWithData(nil, Data(root.der))) }
    }
}

/// A trust of certificates, as programs for Apple's platforms evaluate them.
@Suite struct SecTrustTests {
    /// The code with which an evaluation fails; 0 if it does not.
    private static func code(
        _ certificates: Any, _ policy: SecPolicy = SecPolicyCreateBasicX509(), anchors: [SecCertificate]?,
        _ change: (SecTrust) -> Void = { _ in }
    ) throws -> OSStatus {
        var made: SecTrust?
        #expect(SecTrustCreateWithCertificates(certificates, policy, &made) == errSecSuccess)
        let trust = try #require(made)
        if let anchors { #expect(SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess) }
        change(trust)
        var result = SecTrustResultType.proceed
        #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess && result == .invalid)
        var error: CFError?
        let isTrusted = SecTrustEvaluateWithError(trust, &error)
        #expect(SecTrustGetTrustResult(trust, &result) == errSecSuccess)
        #expect(result == (isTrusted ? .unspecified : .recoverableTrustFailure))
        #expect(isTrusted == (error == nil))
        return OSStatus(error?.code ?? 0)
    }

    @Test func whatLeadsToAnAnchorIsTrusted() async {
        await #expect(processExitsWith: .success) {
            let (authority, other) = (try Authority(), try Authority())
            let home = try Home(roots: authority.root.pem)
            defer { home.end() }
            let leaf = try authority.issue("leaf")
            #expect(try Self.code(leaf, anchors: [authority.anchor]) == errSecSuccess)
            #expect(try Self.code([leaf, authority.anchor] as CFArray, anchors: [other.anchor]) == errSecNotTrusted)
            #expect(try Self.code(leaf, anchors: []) == errSecNotTrusted)
            // The leaf itself may be an anchor.
            #expect(try Self.code(leaf, anchors: [leaf]) == errSecSuccess)
            #expect(try Self.code(leaf, anchors: nil) == errSecSuccess)
            #expect(try Self.code(leaf, anchors: [other.anchor]) == errSecNotTrusted)
            let both = try Self.code(leaf, anchors: [other.anchor]) { SecTrustSetAnchorCertificatesOnly($0, false) }
            #expect(both == errSecSuccess)
            #expect(
                try Self.code(leaf, anchors: nil) { SecTrustSetAnchorCertificatesOnly($0, true) } == errSecNotTrusted)
        }
    }

    @Test func theHostThePurposeAndTheTimeCount() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let authority = try Authority()
            let anchors = [try authority.anchor]
            let leaf = try authority.issue(
                "www", names: [.dns("*.example.org"), .other(tag: 0x87, content: [192, 0, 2, 1])])
            func code(_ host: String?, server: Bool = true) throws -> OSStatus {
                try Self.code(leaf, SecPolicyCreateSSL(server, host), anchors: anchors)
            }
            #expect(try code("www.example.org") == errSecSuccess)
            #expect(try code("192.0.2.1") == errSecSuccess)
            #expect(try code(nil) == errSecSuccess)
            for host in ["www.example.com", "example.org", "a.www.example.org", "192.0.2.2"] {
                #expect(try code(host) == errSecHostNameMismatch)
            }
            #expect(try code("www.example.org", server: false) == errSecNotTrusted)

            let short = try authority.issue("short", until: 1_700_000_000)
            #expect(try Self.code(short, anchors: anchors) == errSecCertificateExpired)
            func on(_ seconds: TimeInterval) throws -> OSStatus {
                try Self.code(short, anchors: anchors) {
                    SecTrustSetVerifyDate($0, Date(timeIntervalSince1970: seconds))
                }
            }
            #expect(try on(1_650_000_000) == errSecSuccess)
            #expect(try on(1_500_000_000) == errSecCertificateNotValidYet)
        }
    }

    @Test func theChainAndTheKeyAreTold() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let authority = try Authority()
            let (leaf, root) = (try authority.issue("leaf"), try authority.anchor)
            var made: SecTrust?
            #expect(SecTrustCreateWithCertificates([leaf] as CFArray, nil, &made) == errSecSuccess)
            let trust = try #require(made)
            #expect(SecTrustCopyCertificateChain(trust) as? [SecCertificate] == [leaf])
            #expect(SecTrustSetAnchorCertificates(trust, [root] as CFArray) == errSecSuccess)
            #expect(SecTrustCopyCertificateChain(trust) as? [SecCertificate] == [leaf, root])
            #expect(SecTrustGetCertificateCount(trust) == 2)
            #expect(SecTrustGetCertificateAtIndex(trust, 1) == root)
            #expect(SecTrustGetCertificateAtIndex(trust, 2) == nil)
            #expect(SecTrustCopyKey(trust) == SecCertificateCopyKey(leaf))
            #expect(CFGetTypeID(trust) == SecTrustGetTypeID())
            #expect(SecTrustCreateWithCertificates(["x"] as CFArray, nil, &made) == errSecParam)
            #expect(SecTrustCreateWithCertificates([] as CFArray, nil, &made) == errSecParam)
            #expect(SecTrustCreateWithCertificates(leaf, "x", &made) == errSecParam)
            let isTrusted = await withCheckedContinuation { continuation in
                let queue = DispatchQueue(label: "trust")
                SecTrustEvaluateAsyncWithError(trust, queue) { _, isTrusted, _ in
                    continuation.resume(returning: isTrusted)
                }
            }
            #expect(isTrusted)
            SecTrustSetAnchorCertificates(trust, [leaf] as CFArray)
            SecTrustSetVerifyDate(trust, Date(timeIntervalSince1970: 0))
            for queue in [nil, DispatchQueue(label: "trust")] {
                let result = await withCheckedContinuation { continuation in
                    SecTrustEvaluateAsync(trust, queue) { _, result in continuation.resume(returning: result) }
                }
                #expect(result == .recoverableTrustFailure)
            }
        }
    }
}
