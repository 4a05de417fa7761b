internal import KeychainModel
internal import Foundation
internal import Localization
internal import SystemCrypto

/// The padding of functions that are older than ``SecKeyAlgorithm``. SecKey.h; none is `[]`.
public struct SecPadding: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static let PKCS1 = SecPadding(rawValue: 0x1)
    public static let OAEP = SecPadding(rawValue: 0x2)
    /// An ECDSA signature as two numbers, one after the other.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)

    private static let signatures: [SecPadding: SecKeyAlgorithm] = [
        []: .rsaSignatureRaw, .PKCS1: .rsaSignatureDigestPKCS1v15Raw, .PKCS1SHA1: .rsaSignatureDigestPKCS1v15SHA1,
        .PKCS1SHA224: .rsaSignatureDigestPKCS1v15SHA224, .PKCS1SHA256: .rsaSignatureDigestPKCS1v15SHA256,
        .PKCS1SHA384: .rsaSignatureDigestPKCS1v15SHA384, .PKCS1SHA512: .rsaSignatureDigestPKCS1v15SHA512,
    ]

    private static let encryptions: [SecPadding: SecKeyAlgorithm] = [
        []: .rsaEncryptionRaw, .PKCS1: .rsaEncryptionPKCS1, .OAEP: .rsaEncryptionOAEPSHA1,
    ]

    /// - Throws: `errSecParam` for a padding that the key's signatures cannot have.
    fileprivate func signature(of key: SecKey) throws(KeychainError) -> SecKeyAlgorithm {
        // As on Apple's platforms, every other padding of an EC key means X9.62.
        if key.publicKey?.kind.isEC == true {
            return self == .sigRaw ? .ecdsaSignatureRFC4754 : .ecdsaSignatureDigestX962
        }
        return try known(SecPadding.signatures)
    }

    /// - Throws: `errSecParam` for a padding that no encryption has.
    fileprivate func encryption() throws(KeychainError) -> SecKeyAlgorithm { try known(SecPadding.encryptions) }

    private func known(_ algorithms: [SecPadding: SecKeyAlgorithm]) throws(KeychainError) -> SecKeyAlgorithm {
        guard let algorithm = algorithms[self] else {
            throw KeychainError(.param, "no algorithm of the key has this padding", key: "padding")
        }
        return algorithm
    }
}

/// Signs a digest, or the padded input.
///
/// - Parameter sigLen: the room at `sig`; then the length of the signature.
/// - Returns: `errSecParam` also where there is too little room.
public func SecKeyRawSign(
    _ key: SecKey, _ padding: SecPadding, _ dataToSign: UnsafePointer<UInt8>, _ dataToSignLen: Int,
    _ sig: UnsafeMutablePointer<UInt8>, _ sigLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe giving(sig, sigLen) { error throws(KeychainError) in
        let input = try unsafe Data(callers: dataToSign, count: dataToSignLen)
        return try unsafe SecKeyCreateSignature(key, padding.signature(of: key), input, error)
    }
}

/// Verifies a signature by ``SecKeyRawSign(_:_:_:_:_:_:)``.
public func SecKeyRawVerify(
    _ key: SecKey, _ padding: SecPadding, _ signedData: UnsafePointer<UInt8>, _ signedDataLen: Int,
    _ sig: UnsafePointer<UInt8>, _ sigLen: Int
) -> OSStatus {
    var error: Unmanaged<CFError>?
    let status = status { () throws(KeychainError) in
        let input = try unsafe Data(callers: signedData, count: signedDataLen)
        let signature = try unsafe Data(callers: sig, count: sigLen)
        _ = try unsafe SecKeyVerifySignature(key, padding.signature(of: key), input, signature, &error)
    }
    return unsafe error.map { unsafe OSStatus(truncatingIfNeeded: $0.takeRetainedValue().code) } ?? status
}

/// Encrypts with the public half of an RSA key.
///
/// - Parameter cipherTextLen: the room at `cipherText`; then the length of the ciphertext.
/// - Returns: `errSecParam` also where there is too little room.
public func SecKeyEncrypt(
    _ key: SecKey, _ padding: SecPadding, _ plainText: UnsafePointer<UInt8>, _ plainTextLen: Int,
    _ cipherText: UnsafeMutablePointer<UInt8>, _ cipherTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe giving(cipherText, cipherTextLen) { error throws(KeychainError) in
        let input = try unsafe Data(callers: plainText, count: plainTextLen)
        return try unsafe SecKeyCreateEncryptedData(key, padding.encryption(), input, error)
    }
}

/// Decrypts with an RSA key.
///
/// - Parameter plainTextLen: the room at `plainText`; then the length of the plaintext.
/// - Returns: `errSecParam` also where there is too little room.
public func SecKeyDecrypt(
    _ key: SecKey, _ padding: SecPadding, _ cipherText: UnsafePointer<UInt8>, _ cipherTextLen: Int,
    _ plainText: UnsafeMutablePointer<UInt8>, _ plainTextLen: UnsafeMutablePointer<Int>
) -> OSStatus {
    unsafe giving(plainText, plainTextLen) { error throws(KeychainError) in
        let input = try unsafe Data(callers: cipherText, count: cipherTextLen)
        return try unsafe SecKeyCreateDecryptedData(key, padding.encryption(), input, error)
    }
}

/// Copies the result of `body` to the caller's buffer, and its length.
private func giving(
    _ output: UnsafeMutablePointer<UInt8>, _ length: UnsafeMutablePointer<Int>, _ function: StaticString = #function,
    _ body: (UnsafeMutablePointer<Unmanaged<CFError>?>) throws(KeychainError) -> CFData?
) -> OSStatus {
    var error: Unmanaged<CFError>?
    let status = status(function) { () throws(KeychainError) in
        guard var data = try unsafe body(&error) else { return }
        defer { data.resetBytes(in: data.startIndex..<data.endIndex) }
        guard unsafe length.pointee >= data.count else {
            throw KeychainError(.param, "the result has \(data.count) bytes, more than the buffer")
        }
        unsafe data.copyBytes(to: output, count: data.count)
        unsafe length.pointee = data.count
    }
    return unsafe error.map { unsafe OSStatus(truncatingIfNeeded: $0.takeRetainedValue().code) } ?? status
}

extension Data {
    /// A copy of a caller's bytes.
    ///
    /// - Throws: `errSecParam` for a length below zero.
    fileprivate init(callers bytes: UnsafePointer<UInt8>, count: Int) throws(KeychainError) {
        guard count >= 0 else { throw KeychainError(.param, "a length is negative") }
        unsafe self.init(bytes: bytes, count: count)
    }
}
