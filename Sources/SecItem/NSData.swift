public import Foundation

// The functions that take data, for `NSData`, which Swift for Linux does not convert to ``CFData`` implicitly.

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: NSData) -> SecCertificate? {
    SecCertificateCreateWithData(allocator, data as CFData)
}

@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: NSData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe SecPKCS12Import(pkcs12_data as CFData, options, items)
}

@discardableResult
public func SecItemImport(
    _ importedData: NSData, _ fileNameOrExtension: CFString?, _ inputFormat: UnsafeMutablePointer<SecExternalFormat>?,
    _ itemType: UnsafeMutablePointer<SecExternalItemType>?, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ importKeychain: SecKeychain?,
    _ outItems: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    unsafe SecItemImport(
        importedData as CFData, fileNameOrExtension, inputFormat, itemType, flags, keyParams, importKeychain, outItems)
}

public func SecKeyCreateWithData(
    _ keyData: NSData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe SecKeyCreateWithData(keyData as CFData, attributes, error)
}

public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: NSData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecKeyCreateSignature(key, algorithm, dataToSign as CFData, error)
}

public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: NSData, _ signature: NSData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    unsafe SecKeyVerifySignature(key, algorithm, signedData as CFData, signature as CFData, error)
}

public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: NSData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecKeyCreateEncryptedData(key, algorithm, plaintext as CFData, error)
}

public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: NSData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe SecKeyCreateDecryptedData(key, algorithm, ciphertext as CFData, error)
}
