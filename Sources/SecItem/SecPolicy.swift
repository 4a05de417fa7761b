public import Foundation
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

/// A policy by its name; nil for one that is not known, and for properties that it does not have.
///
/// A TLS policy is a server's unless ``kSecPolicyClient`` says otherwise; its ``kSecPolicyName`` is not compared.
public func SecPolicyCreateWithProperties(_ policyIdentifier: Any, _ properties: CFDictionary?) -> SecPolicy? {
    guard var properties = try? [String: Any](properties ?? [:]) else { return nil }
    switch policyIdentifier as? String {
    case kSecPolicyAppleSSL:
        let isClient = properties.removeValue(forKey: kSecPolicyClient) ?? false
        let name = properties.removeValue(forKey: kSecPolicyName) ?? ""
        guard let isClient = isClient as? Bool, let name = name as? String, properties.isEmpty else { return nil }
        return SecPolicyCreateSSL(!isClient, name)
    case let name?:
        let named: [String: CertificatePolicy] = [
            kSecPolicyAppleX509Basic: .basicX509, kSecPolicyAppleSMIME: .smime,
            kSecPolicyAppleCodeSigning: .codeSigning,
        ]
        return properties.isEmpty ? named[name].map { SecPolicy($0) } : nil
    case nil: return nil
    }
}

public let kSecPolicyName: CFString = "SecPolicyName"
public let kSecPolicyClient: CFString = "SecPolicyClient"
public let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"
public let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"
public let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"
public let kSecPolicyAppleCodeSigning: CFString = "1.2.840.113635.100.1.16"
