internal import KeychainModel
internal import Foundation
internal import SystemCrypto

/// A certificate and the private key that belongs to it.
public final class SecIdentity: Sendable {
    enum Halves: Sendable {
        case items(Identity)
        case imported(Certificate, PrivateKey)
        case certified(Certificate, Item)
    }

    let halves: Halves
    private let context: LAContext?

    /// - Parameter context: the context for uses of the key.
    init(_ halves: Halves, _ context: LAContext? = nil) {
        self.halves = halves
        self.context = context
    }

    var certificate: SecCertificate? {
        switch halves {
        case .items(let identity): SecCertificate(identity.certificate)
        case .imported(let certificate, _), .certified(let certificate, _): SecCertificate(certificate)
        }
    }

    var key: SecKey {
        switch halves {
        case .items(let identity): SecKey(.item(identity.key), context)
        case .imported(_, let key): SecKey(.privateKey(key))
        case .certified(_, let key): SecKey(.item(key), context)
        }
    }
}

extension SecCertificate {
    /// The certificate of an item; nil for an item of another class.
    convenience init?(_ item: Item) {
        guard let certificate = item.certificate else { return nil }
        self.init(certificate, item: item)
    }
}

/// The identity of a certificate and its private key; nil where the certificate has another public key.
public func SecIdentityCreate(
    _ allocator: CFAllocator?, _ certificate: SecCertificate, _ privateKey: SecKey
) -> SecIdentity? {
    guard privateKey.isPrivate, privateKey.publicKey?.keyHash == certificate.certificate.keyHash else { return nil }
    switch privateKey.material {
    case .privateKey(let key): return SecIdentity(.imported(certificate.certificate, key))
    case .item(let key): return SecIdentity(certificate, key, privateKey.context)
    case .publicKey, .symmetricKey: return nil
    }
}

/// The identity of a certificate and the private key that a keychain has for it.
///
/// - Parameter keychainOrArray: the keychains to search, instead of all keychains and inserted cards.
/// - Returns: `errSecItemNotFound` where no keychain has the private key.
@discardableResult
public func SecIdentityCreateWithCertificate(
    _ keychainOrArray: CFTypeRef?, _ certificateRef: SecCertificate, _ identityRef: UnsafeMutablePointer<SecIdentity?>
) -> OSStatus {
    status { () throws(KeychainError) in
        var query: [String: Any] = [
            kSecClass: kSecClassKey, kSecAttrKeyClass: kSecAttrKeyClassPrivate, kSecReturnRef: true,
            kSecAttrApplicationLabel: Data(certificateRef.certificate.keyHash),
            kSecAttrSynchronizable: kSecAttrSynchronizableAny,
        ]
        query[kSecMatchSearchList] = keychainOrArray.map { $0 as? [Any] ?? [$0] }
        guard case .item(let key) = (try Keychains.copyMatching(query) as? SecKey)?.material else {
            throw KeychainError(.itemNotFound)
        }
        unsafe identityRef.pointee = SecIdentity(certificateRef, key)
    }
}

extension SecIdentity {
    fileprivate convenience init(_ certificate: SecCertificate, _ key: Item, _ context: LAContext? = nil) {
        let halves = certificate.item.map { Halves.items(Identity(certificate: $0, key: key)) }
        self.init(halves ?? .certified(certificate.certificate, key), context)
    }
}

@discardableResult
public func SecIdentityCopyCertificate(
    _ identity: SecIdentity, _ certificate: UnsafeMutablePointer<SecCertificate?>
) -> OSStatus {
    guard let found = identity.certificate else { return errSecDecode }
    unsafe certificate.pointee = found
    return errSecSuccess
}

@discardableResult
public func SecIdentityCopyPrivateKey(
    _ identity: SecIdentity, _ privateKey: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    unsafe privateKey.pointee = identity.key
    return errSecSuccess
}
