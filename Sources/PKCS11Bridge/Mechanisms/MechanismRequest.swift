internal import PKCS11Mechanisms
package import CCryptoki
internal import SystemCrypto

/// A mechanism that a program asks for, with its parameter, free of pointers.
package struct MechanismRequest: Sendable {
    package enum Parameter: Sendable {
        case none
        case pss(hash: CK_MECHANISM_TYPE, mgf: CK_ULONG, saltLength: CK_ULONG)
        case oaep(hash: CK_MECHANISM_TYPE, mgf: CK_ULONG, label: [UInt8])
        case agreement(kdf: CK_ULONG, sharedInfo: [UInt8], publicData: [UInt8])
        /// `CK_AES_CTR_PARAMS`: the number of counter bits, and the block.
        case counter(bits: CK_ULONG, block: [UInt8])
        /// `CK_GCM_PARAMS`.
        case gcm(nonce: [UInt8], associatedData: [UInt8], tagBits: CK_ULONG)
        /// `CK_MAC_GENERAL_PARAMS`: bytes of a code.
        case codeLength(CK_ULONG)
        /// An initialisation vector, or a parameter that no mechanism here uses.
        case bytes([UInt8])
    }

    package let type: CK_MECHANISM_TYPE
    package let parameter: Parameter

    package init(_ type: CK_MECHANISM_TYPE, _ parameter: Parameter = .none) {
        self.type = type
        self.parameter = parameter
    }

    /// The use of the mechanism in the functions of a flag such as `CKF_SIGN`.
    ///
    /// - Throws: `CKR_MECHANISM_INVALID`.
    func use(for flag: CK_FLAGS) throws(CryptokiError) -> MechanismUse {
        guard let use = MechanismTable.use(of: type, for: flag) else { throw MechanismRequest.unknown }
        return use
    }

    /// - Throws: `CKR_MECHANISM_PARAM_INVALID` where there is a parameter.
    func requireNoParameter() throws(CryptokiError) {
        guard case .none = parameter else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
    }

    static let unknown = CryptokiError(CKR_MECHANISM_INVALID)
}
