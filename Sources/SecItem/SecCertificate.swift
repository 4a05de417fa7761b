internal import KeychainModel
public import Foundation
internal import SystemCrypto

/// An X.509 certificate.
public final class SecCertificate: Sendable {
    let certificate: Certificate
    /// The item that it was found as; nil for a certificate that was made from data.
    let item: Item?

    init(_ certificate: Certificate, item: Item? = nil) {
        self.certificate = certificate
        self.item = item
    }
}

extension SecCertificate: Hashable {
    public static func == (left: SecCertificate, right: SecCertificate) -> Bool {
        left.certificate.der == right.certificate.der
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(certificate.der) }
}

/// The certificate of DER data; nil for other data.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    (try? Certificate(der: [UInt8](data))).map { SecCertificate($0) }
}

/// The certificate in DER.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { Data(certificate.certificate.der) }

/// The certificate's title for people.
public func SecCertificateCopySubjectSummary(_ certificate: SecCertificate) -> CFString? {
    InferredAttributes.summary(of: certificate.certificate)
}

/// The common name of the subject.
@discardableResult
public func SecCertificateCopyCommonName(
    _ certificate: SecCertificate, _ commonName: UnsafeMutablePointer<CFString?>
) -> OSStatus {
    unsafe commonName.pointee = certificate.certificate.commonName
    return errSecSuccess
}

/// The e-mail addresses of the certificate.
@discardableResult
public func SecCertificateCopyEmailAddresses(
    _ certificate: SecCertificate, _ emailAddresses: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe emailAddresses.pointee = certificate.certificate.emailAddresses
    return errSecSuccess
}

/// The public key; nil for a key of an unknown kind.
public func SecCertificateCopyKey(_ certificate: SecCertificate) -> SecKey? {
    (try? PublicKey(spki: certificate.certificate.spki)).map { SecKey(.publicKey($0)) }
}

/// The content octets of the serial number.
public func SecCertificateCopySerialNumberData(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    Data(certificate.certificate.serialNumber)
}

/// The first second in which the certificate is valid.
public func SecCertificateCopyNotValidBeforeDate(_ certificate: SecCertificate) -> CFDate? {
    Date(timeIntervalSince1970: TimeInterval(certificate.certificate.notBefore))
}

/// The last second in which the certificate is valid.
public func SecCertificateCopyNotValidAfterDate(_ certificate: SecCertificate) -> CFDate? {
    Date(timeIntervalSince1970: TimeInterval(certificate.certificate.notAfter))
}

/// The subject as it is compared: normalised, without its outer header.
public func SecCertificateCopyNormalizedSubjectSequence(_ certificate: SecCertificate) -> CFData? {
    Data(InferredAttributes.normalized(certificate.certificate.subject))
}

/// The issuer as it is compared: normalised, without its outer header.
public func SecCertificateCopyNormalizedIssuerSequence(_ certificate: SecCertificate) -> CFData? {
    Data(InferredAttributes.normalized(certificate.certificate.issuer))
}

/// The public key, by its older name.
public func SecCertificateCopyPublicKey(_ certificate: SecCertificate) -> SecKey? { SecCertificateCopyKey(certificate) }

/// The public key, by the older function of macOS.
@discardableResult
public func SecCertificateCopyPublicKey(
    _ certificate: SecCertificate, _ key: UnsafeMutablePointer<SecKey?>
) -> OSStatus {
    guard let found = SecCertificateCopyKey(certificate) else { return errSecDecode }
    unsafe key.pointee = found
    return errSecSuccess
}

/// The serial number, by its older name.
public func SecCertificateCopySerialNumber(_ certificate: SecCertificate) -> CFData? {
    SecCertificateCopySerialNumberData(certificate, nil)
}

/// The serial number, by the older function of macOS.
public func SecCertificateCopySerialNumber(
    _ certificate: SecCertificate, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecCertificateCopySerialNumberData(certificate, error)
}
