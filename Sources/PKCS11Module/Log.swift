internal import CCryptoki
internal import CPKCS11Module

/// The log that `TOKENKIT_DEBUG` asks for: each call's return value, and its reason.
///
/// `C_Initialize` reads the variable. It names a file to append to, by a path with a slash; any other value but `0` stands for standard error. The
/// host's lines never contain a PIN, a key or decrypted data.
struct Log {
    private let name: StaticString
    private var isAnswered = false

    init(_ name: StaticString) {
        self.name = name
    }

    /// Nil where no log is wanted.
    static var path: UnsafePointer<CChar>? { unsafe tokenkit_log_path() }

    /// Writes the host's notes: lines about events, and last the meaning of the return value.
    mutating func note(_ notes: [[UInt8]]) {
        guard let path = unsafe Log.path else { return }
        for index in notes.indices {
            unsafe write(to: path, isLast: index == notes.count - 1) { line in
                for byte in notes[index] where byte >= 0x20 { line.append(byte) }
            }
        }
        isAnswered = !notes.isEmpty
    }

    /// Writes the call's return value, unless the host's notes have it.
    ///
    /// - Returns: the code.
    func end(_ code: CK_RV, _ reason: StaticString = "") -> CK_RV {
        guard !isAnswered, let path = unsafe Log.path else { return code }
        unsafe write(to: path, isLast: true) { line in
            line.append(Log.returnValue(code))
            if reason.utf8CodeUnitCount > 0 {
                line.append(": ")
                line.append(reason)
            }
        }
        return code
    }

    private func write(to path: UnsafePointer<CChar>, isLast: Bool, _ body: (inout [UInt8]) -> Void) {
        var (seconds, milliseconds): (Int64, Int64) = (0, 0)
        unsafe tokenkit_time(&seconds, &milliseconds)
        var line: [UInt8] = []
        line.append("tokenkit-pkcs11[")
        line.append(decimal: UInt64(UInt32(bitPattern: getpid())))
        line.append("] ")
        line.append(decimal: UInt64(seconds))
        line.append(milliseconds < 10 ? ".00" : milliseconds < 100 ? ".0" : ".")
        line.append(decimal: UInt64(milliseconds))
        line.append(" ")
        if isLast {
            line.append(name: name)
            line.append(" ")
        }
        body(&line)
        line.append("\n")
        unsafe line.withUnsafeBytes { unsafe tokenkit_log(path, $0.baseAddress, $0.count) }
    }

    /// The names of the return values that the module itself makes.
    private static func returnValue(_ code: CK_RV) -> StaticString {
        switch code {
        case CKR_OK: "CKR_OK"
        case CKR_ARGUMENTS_BAD: "CKR_ARGUMENTS_BAD: an argument is missing, or not as the function takes it"
        case CKR_BUFFER_TOO_SMALL:
            "CKR_BUFFER_TOO_SMALL: there is not enough room for the result (ask for its length first)"
        case CKR_CANT_LOCK: "CKR_CANT_LOCK: the module locks by the system's means, and the program allows only its own"
        case CKR_CRYPTOKI_ALREADY_INITIALIZED:
            "CKR_CRYPTOKI_ALREADY_INITIALIZED: this process has called C_Initialize before"
        case CKR_CRYPTOKI_NOT_INITIALIZED:
            "CKR_CRYPTOKI_NOT_INITIALIZED: this process has not called C_Initialize, or has called C_Finalize"
        case CKR_ATTRIBUTE_VALUE_INVALID: "CKR_ATTRIBUTE_VALUE_INVALID: an attribute has a length without a value"
        case CKR_MECHANISM_PARAM_INVALID:
            "CKR_MECHANISM_PARAM_INVALID: the mechanism's parameter is not as it has to be"
        case CKR_DEVICE_ERROR: "CKR_DEVICE_ERROR"
        case CKR_SLOT_ID_INVALID: "CKR_SLOT_ID_INVALID"
        case CKR_SESSION_HANDLE_INVALID: "CKR_SESSION_HANDLE_INVALID"
        case CKR_HOST_MEMORY: "CKR_HOST_MEMORY"
        case CKR_NO_EVENT: "CKR_NO_EVENT: no card has come or gone"
        default: "CKR_GENERAL_ERROR"
        }
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount { append(unsafe text.utf8Start[index]) }
    }

    /// A function's name without its labels.
    fileprivate mutating func append(name: StaticString) {
        for index in 0..<name.utf8CodeUnitCount {
            let byte = unsafe name.utf8Start[index]
            if byte == 0x28 { return }
            append(byte)
        }
    }

    fileprivate mutating func append(decimal number: UInt64) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(truncatingIfNeeded: number % 10) + 0x30)
    }
}
