internal import KeychainHost

/// What a certificate is wanted for.
public final class SecPolicy: Sendable {
    let policy: CertificatePolicy

    init(_ policy: CertificatePolicy) {
        self.policy = policy
    }
}

/// Any certificate.
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basicX509) }

/// A certificate of a TLS server, or of a client. Names of hosts are not compared.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(server ? .tlsServer : .tlsClient)
}

/// A policy by its name; nil for one that is not known.
public func SecPolicyCreateWithProperties(_ policyIdentifier: Any, _ properties: CFDictionary?) -> SecPolicy? {
    guard let name = policyIdentifier as? String else { return nil }
    let named: [String: CertificatePolicy] = [
        kSecPolicyAppleX509Basic: .basicX509, kSecPolicyAppleSSL: .tlsServer, kSecPolicyAppleSMIME: .smime,
        kSecPolicyAppleCodeSigning: .codeSigning,
    ]
    return named[name].map { SecPolicy($0) }
}

public let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"
public let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"
public let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"
public let kSecPolicyAppleCodeSigning: CFString = "1.2.840.113635.100.1.16"
