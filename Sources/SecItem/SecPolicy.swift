internal import KeychainModel
public import Foundation

/// The purpose of a certificate.
public final class SecPolicy: Sendable {
    let policy: CertificatePolicy
    /// The host name for a ``SecTrust``. A search ignores it.
    let host: String?

    init(_ policy: CertificatePolicy, host: String? = nil) {
        self.policy = policy
        self.host = host
    }
}

/// Any certificate.
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basicX509) }

/// A certificate of a TLS server, or of a client.
///
/// - Parameter hostname: the name or address that a ``SecTrust`` has to find in the certificate; nil for none. A search ignores
///   it.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(server ? .tlsServer : .tlsClient, host: hostname.flatMap { $0.isEmpty ? nil : $0 })
}

/// A policy by its name; nil for an unknown policy, and for properties that the policy does not have.
///
/// A TLS policy is a server's unless ``kSecPolicyClient`` is true; its ``kSecPolicyName`` is the name of the host.
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
