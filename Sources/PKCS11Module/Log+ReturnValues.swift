internal import CCryptoki
internal import CThinClient

extension Log {
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
