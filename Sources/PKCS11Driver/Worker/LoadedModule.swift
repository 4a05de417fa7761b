internal import CCryptoki
internal import CP11Kit
internal import CryptokiNames
internal import Glibc
internal import SecureBytes
internal import TokenKit

/// A foreign module in this process, which is a worker: a fault of the module affects only the worker.
///
/// The module's answers are not trusted: lengths are checked against the worker's own buffers, and lists have limits.
@safe
final class LoadedModule {
    let functions: UnsafeMutablePointer<CK_FUNCTION_LIST>

    /// A session for each slot that stays open, since a login ends with the slot's last session.
    private var sessions: [CK_SLOT_ID: CK_SESSION_HANDLE] = [:]

    /// Loads and initialises the module.
    ///
    /// - Parameters:
    ///   - place: the module's file, or its name in p11-kit.
    ///   - program: the name in p11-kit's configuration of the program that uses the module.
    init(_ place: String, for program: String) throws(ModuleFailure) {
        let list =
            unsafe try place.contains("/")
            ? LoadedModule.load(file: place) : LoadedModule.load(name: place, for: program)
        unsafe functions = list
        var arguments = unsafe CK_C_INITIALIZE_ARGS()
        unsafe arguments.flags = CK_FLAGS(CKF_OS_LOCKING_OK)
        let code = try unsafe call("C_Initialize", list.pointee.C_Initialize)(&arguments)
        if code != CKR_CRYPTOKI_ALREADY_INITIALIZED { try LoadedModule.require("C_Initialize", code) }
        // A module without a path, which only p11-kit can reach, may be this product's own on another machine.
        if place.contains("/"), isOurs {
            throw ModuleFailure(code: 0, what: "it is this product's own, and what it shows is here without it")
        }
    }

    /// Whether the module says that it is this product's own, or leads to it.
    private var isOurs: Bool {
        var info = CK_INFO()
        guard let function = unsafe functions.pointee.C_GetInfo, unsafe function(&info) == CKR_OK else { return false }
        return LoadedModule.text(info.manufacturerID).shown == CryptokiLibrary.manufacturer
            && LoadedModule.text(info.libraryDescription).shown == CryptokiLibrary.description
    }

    private static func load(file: String) throws(ModuleFailure) -> UnsafeMutablePointer<CK_FUNCTION_LIST> {
        guard let library = unsafe dlopen(file, RTLD_NOW | RTLD_LOCAL) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "it cannot be loaded"
            throw ModuleFailure(code: 0, what: reason)
        }
        guard let symbol = unsafe dlsym(library, "C_GetFunctionList") else {
            throw ModuleFailure(code: 0, what: "it is not a PKCS#11 module: it has no C_GetFunctionList")
        }
        typealias GetFunctionList =
            @convention(c) (UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>?) -> CK_RV
        let getFunctionList = unsafe unsafeBitCast(symbol, to: GetFunctionList.self)
        var list: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        try LoadedModule.require("C_GetFunctionList", unsafe getFunctionList(&list))
        guard let list = unsafe list else { throw ModuleFailure(code: 0, what: "its C_GetFunctionList gives no list") }
        return unsafe list
    }

    /// Loads a module that only p11-kit can reach, by starting a program or connecting to a server. p11-kit loads all configured
    /// modules for that, which harms no other program in this process.
    private static func load(
        name: String, for program: String
    ) throws(ModuleFailure) -> UnsafeMutablePointer<CK_FUNCTION_LIST> {
        guard let list = unsafe cp11kit_module(program, name) else {
            throw ModuleFailure(code: 0, what: "p11-kit has no module '\(name)' (see: p11-kit list-modules)")
        }
        return unsafe list.assumingMemoryBound(to: CK_FUNCTION_LIST.self)
    }

    func finalize() {
        guard let function = unsafe functions.pointee.C_Finalize else { return }
        _ = function(nil)
    }

    // MARK: Tokens

    func tokens() throws(ModuleFailure) -> [ModuleTokenInfo] {
        var slots = [CK_SLOT_ID](repeating: 0, count: LoadedModule.maximumSlots)
        var count = CK_ULONG(slots.count)
        let list = try unsafe call("C_GetSlotList", functions.pointee.C_GetSlotList)
        let code = unsafe slots.withUnsafeMutableBufferPointer {
            unsafe list(CK_BBOOL(CK_TRUE), $0.baseAddress, &count)
        }
        try LoadedModule.check("C_GetSlotList", code)
        guard count <= CK_ULONG(slots.count) else {
            throw ModuleFailure(code: 0, what: "it says it has \(count) slots")
        }
        var tokens: [ModuleTokenInfo] = []
        var seen: Set<CK_SLOT_ID> = []
        for slot in slots.prefix(Int(count)) where seen.insert(slot).inserted {
            // A token that is removed meanwhile, or that fails, is left out.
            if let token = try? token(in: slot) { tokens.append(token) }
        }
        return tokens
    }

    func token(in slot: CK_SLOT_ID) throws(ModuleFailure) -> ModuleTokenInfo {
        var slotInfo = CK_SLOT_INFO()
        let getSlotInfo = try unsafe call("C_GetSlotInfo", functions.pointee.C_GetSlotInfo)
        try LoadedModule.check("C_GetSlotInfo", unsafe getSlotInfo(slot, &slotInfo))
        var info = CK_TOKEN_INFO()
        let getTokenInfo = try unsafe call("C_GetTokenInfo", functions.pointee.C_GetTokenInfo)
        try LoadedModule.check("C_GetTokenInfo", unsafe getTokenInfo(slot, &info))
        guard info.flags & CK_FLAGS(CKF_TOKEN_INITIALIZED) != 0 else {
            throw ModuleFailure(code: UInt64(CKR_TOKEN_NOT_RECOGNIZED), what: "C_GetTokenInfo")
        }
        return ModuleTokenInfo(
            slot: UInt64(slot), slotDescription: LoadedModule.text(slotInfo.slotDescription).shown,
            label: LoadedModule.text(info.label), manufacturer: LoadedModule.text(info.manufacturerID),
            model: LoadedModule.text(info.model), serialNumber: LoadedModule.text(info.serialNumber),
            flags: UInt64(info.flags), minimumPINLength: UInt64(info.ulMinPinLen),
            maximumPINLength: UInt64(info.ulMaxPinLen),
            firmware: "\(info.firmwareVersion.major).\(info.firmwareVersion.minor)")
    }

    /// A field of fixed length, without the blanks that pad it; some modules pad with zeros.
    private static func text<Field>(_ field: Field) -> PKCS11URI.Text {
        let bytes = unsafe withUnsafeBytes(of: field) { unsafe Array($0) }
        return PKCS11URI.Text(bytes.prefix { $0 != 0 }.reversed().drop { $0 == UInt8(ascii: " ") }.reversed())
    }

    // MARK: Sessions

    private func open(_ slot: CK_SLOT_ID) throws(ModuleFailure) -> CK_SESSION_HANDLE {
        var session: CK_SESSION_HANDLE = 0
        let open = try unsafe call("C_OpenSession", functions.pointee.C_OpenSession)
        try LoadedModule.check("C_OpenSession", unsafe open(slot, CK_FLAGS(CKF_SERIAL_SESSION), nil, nil, &session))
        return session
    }

    /// Runs `body` in a session of its own, so that a failed operation ends with the session.
    func withSession<Result: ~Copyable>(
        _ slot: CK_SLOT_ID, _ body: (CK_SESSION_HANDLE) throws(ModuleFailure) -> Result
    ) throws(ModuleFailure) -> Result {
        if sessions[slot] == nil { sessions[slot] = try open(slot) }
        let session: CK_SESSION_HANDLE
        do throws(ModuleFailure) { session = try open(slot) } catch {
            // The token was exchanged, so that the kept session is invalid.
            sessions[slot] = nil
            throw error
        }
        defer { if let close = unsafe functions.pointee.C_CloseSession { _ = close(session) } }
        return try body(session)
    }

    /// Presents a PIN. A login ends before that: during it, modules take any PIN.
    ///
    /// - Parameter pin: empty where the token itself asks for the PIN.
    func logIn(
        _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: borrowing Secret
    ) throws(ModuleFailure) {
        if user == CK_USER_TYPE(CKU_USER), isLoggedIn(session) { try endLogin(session) }
        let login = try unsafe call("C_Login", functions.pointee.C_Login)
        let isEmpty = pin.isEmpty
        let code = unsafe pin.bytes.withUnsafeBufferPointer { bytes in
            // The standard's parameter is not const, but no module writes there.
            let start = unsafe isEmpty ? nil : UnsafeMutablePointer(mutating: bytes.baseAddress)
            return unsafe login(session, user, start, CK_ULONG(bytes.count))
        }
        guard code != CKR_USER_ALREADY_LOGGED_IN else { return }
        try LoadedModule.check("C_Login", code)
    }

    func isLoggedIn(_ session: CK_SESSION_HANDLE) -> Bool {
        guard let function = unsafe functions.pointee.C_GetSessionInfo else { return false }
        var info = CK_SESSION_INFO()
        guard unsafe function(session, &info) == CKR_OK else { return false }
        return [CKS_RO_USER_FUNCTIONS, CKS_RW_USER_FUNCTIONS].contains(info.state)
    }

    func logOut(_ slot: CK_SLOT_ID) throws(ModuleFailure) {
        try withSession(slot) { (session) throws(ModuleFailure) in try endLogin(session) }
    }

    private func endLogin(_ session: CK_SESSION_HANDLE) throws(ModuleFailure) {
        let logout = try unsafe call("C_Logout", functions.pointee.C_Logout)
        let code = logout(session)
        guard code != CKR_USER_NOT_LOGGED_IN else { return }
        try LoadedModule.check("C_Logout", code)
    }

    // MARK: Keys

    /// The index of the first candidate mechanism that the token offers; 0 where it offers none, so that the call fails with the
    /// module's error.
    func indexOfCandidate(for use: KeyUse, slot: CK_SLOT_ID) -> Int {
        guard use.candidateMechanisms.count > 1, let function = unsafe functions.pointee.C_GetMechanismInfo else {
            return 0
        }
        let flag = CK_FLAGS(use.kind == .sign ? CKF_SIGN : CKF_DECRYPT)
        return use.candidateMechanisms.firstIndex { candidate in
            var info = CK_MECHANISM_INFO()
            return unsafe function(slot, CK_MECHANISM_TYPE(candidate.mechanism), &info) == CKR_OK
                && info.flags & flag != 0
        } ?? 0
    }

    /// Signs or decrypts.
    func transform(
        _ use: KeyUse, _ candidate: KeyMechanism, _ key: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE,
        confirming pin: borrowing Secret?
    ) throws(ModuleFailure) -> Secret {
        let name = use.kind == .sign ? "C_Sign" : "C_Decrypt"
        let initialize = try unsafe call(
            name + "Init", use.kind == .sign ? functions.pointee.C_SignInit : functions.pointee.C_DecryptInit)
        let transform = try unsafe call(
            name, use.kind == .sign ? functions.pointee.C_Sign : functions.pointee.C_Decrypt)
        let code = unsafe LoadedModule.withMechanism(candidate) { unsafe initialize(session, $0, key) }
        try LoadedModule.check(name + "Init", code)
        switch pin {
        case .some(let pin): try logIn(session, CK_USER_TYPE(CKU_CONTEXT_SPECIFIC), pin)
        case .none: break
        }
        var input = candidate.input
        var output = [UInt8](repeating: 0, count: LoadedModule.maximumOutput)
        defer { output.wipe() }
        var count = CK_ULONG(output.count)
        let outcome = unsafe input.withUnsafeMutableBufferPointer { input in
            unsafe transform(session, input.baseAddress, CK_ULONG(input.count), &output, &count)
        }
        try LoadedModule.check(name, outcome)
        guard count <= CK_ULONG(output.count) else {
            throw ModuleFailure(code: 0, what: "\(name) says it wrote \(count) bytes")
        }
        return Secret(copying: output.span.extracting(first: Int(count)))
    }

    /// Diffie-Hellman; the secret becomes an object of the session and is read from there.
    func derive(
        _ use: KeyUse, _ candidate: KeyMechanism, _ key: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE
    ) throws(ModuleFailure) -> Secret {
        let derive = try unsafe call("C_DeriveKey", functions.pointee.C_DeriveKey)
        let template: [Attribute] = [
            (CKA_CLASS, CKO_SECRET_KEY.nativeBytes),
            (CKA_KEY_TYPE, CKK_GENERIC_SECRET.nativeBytes), (CKA_TOKEN, [0]), (CKA_SENSITIVE, [0]),
            (CKA_EXTRACTABLE, [1]), (CKA_VALUE_LEN, CK_ULONG(use.length).nativeBytes),
        ]
        var point = candidate.input
        var secret: CK_OBJECT_HANDLE = 0
        let code = unsafe point.withUnsafeMutableBufferPointer { point in
            var parameters = unsafe CK_ECDH1_DERIVE_PARAMS()
            unsafe parameters.kdf = CKD_NULL
            unsafe parameters.pPublicData = point.baseAddress
            unsafe parameters.ulPublicDataLen = CK_ULONG(point.count)
            return unsafe withUnsafeMutablePointer(to: &parameters) { parameters in
                var mechanism = unsafe CK_MECHANISM(
                    mechanism: CK_MECHANISM_TYPE(candidate.mechanism), pParameter: parameters,
                    ulParameterLen: CK_ULONG(MemoryLayout<CK_ECDH1_DERIVE_PARAMS>.size))
                return unsafe LoadedModule.withTemplate(template) {
                    unsafe derive(session, &mechanism, key, $0, $1, &secret)
                }
            }
        }
        try LoadedModule.check("C_DeriveKey", code)
        guard let value = secretValue(CK_ATTRIBUTE_TYPE(CKA_VALUE), of: secret, in: session) else {
            throw ModuleFailure(code: 0, what: "the secret it derived cannot be read")
        }
        return value
    }

    private static func withMechanism(_ candidate: KeyMechanism, _ body: (UnsafeMutablePointer<CK_MECHANISM>) -> CK_RV)
        -> CK_RV
    {
        func withParameters<Parameters>(_ parameters: Parameters) -> CK_RV {
            var parameters = parameters
            return unsafe withUnsafeMutableBytes(of: &parameters) { parameters in
                var mechanism = unsafe CK_MECHANISM(
                    mechanism: CK_MECHANISM_TYPE(candidate.mechanism), pParameter: parameters.baseAddress,
                    ulParameterLen: CK_ULONG(parameters.count))
                return unsafe body(&mechanism)
            }
        }
        switch CK_MECHANISM_TYPE(candidate.mechanism) {
        case CKM_RSA_PKCS_PSS:
            return withParameters(
                CK_RSA_PKCS_PSS_PARAMS(
                    hashAlg: CK_ULONG(candidate.digest), mgf: CK_ULONG(candidate.mask),
                    sLen: CK_ULONG(candidate.saltLength)))
        case CKM_RSA_PKCS_OAEP:
            return unsafe withParameters(
                CK_RSA_PKCS_OAEP_PARAMS(
                    hashAlg: CK_ULONG(candidate.digest), mgf: CK_ULONG(candidate.mask),
                    source: CK_ULONG(CKZ_DATA_SPECIFIED),
                    pSourceData: nil, ulSourceDataLen: 0))
        default:
            var mechanism = unsafe CK_MECHANISM(
                mechanism: CK_MECHANISM_TYPE(candidate.mechanism), pParameter: nil, ulParameterLen: 0)
            return unsafe body(&mechanism)
        }
    }

    // MARK: Calls

    func call<Function>(_ name: String, _ function: Function?) throws(ModuleFailure) -> Function {
        guard let function else { throw ModuleFailure(code: 0, what: "it has no \(name)") }
        return function
    }

    static func check(_ name: String, _ code: CK_RV) throws(ModuleFailure) {
        guard code == CKR_OK else { throw ModuleFailure(code: UInt64(code), what: name) }
    }

    /// Throws for a return value without which the module cannot be used.
    private static func require(_ name: String, _ code: CK_RV) throws(ModuleFailure) {
        guard code == CKR_OK else {
            throw ModuleFailure(code: 0, what: "\(name) failed with \(CryptokiReturnValue.name(of: code))")
        }
    }

    static let maximumSlots = 256
    static let maximumObjects = 4096
    /// Bytes; certificates of post-quantum keys are the largest that are known.
    static let maximumValue = 256 << 10
    /// Bytes, the output of RSA with 16384 bits.
    static let maximumOutput = 2048
}
