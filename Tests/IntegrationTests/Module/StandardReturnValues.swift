/// The return values that the standard lists for each function that the module offers: PKCS #11 2.40 §5.4 to §5.20, and for what it
/// added 3.0. `CKR_OK` is left out.
enum StandardReturnValues {
    static let all: [String: Set<String>] = Dictionary(
        uniqueKeysWithValues: rows.map { function, common, own in (function, values("\(common) \(own)")) })

    private static func values(_ text: String) -> Set<String> {
        Set(text.split(separator: " ").map { "CKR_\($0)" })
    }

    /// The values that nearly every function may return.
    private static let any = "FUNCTION_FAILED GENERAL_ERROR HOST_MEMORY"
    private static let token = any + " CRYPTOKI_NOT_INITIALIZED DEVICE_ERROR DEVICE_MEMORY DEVICE_REMOVED"
    private static let session = token + " SESSION_CLOSED SESSION_HANDLE_INVALID"
    private static let slot = token + " ARGUMENTS_BAD SLOT_ID_INVALID TOKEN_NOT_PRESENT TOKEN_NOT_RECOGNIZED"

    private static let login = """
        ARGUMENTS_BAD FUNCTION_CANCELED OPERATION_NOT_INITIALIZED PIN_INCORRECT PIN_LOCKED SESSION_READ_ONLY_EXISTS \
        USER_ALREADY_LOGGED_IN USER_ANOTHER_ALREADY_LOGGED_IN USER_PIN_NOT_INITIALIZED USER_TOO_MANY_TYPES \
        USER_TYPE_INVALID
        """
    private static let template = "ARGUMENTS_BAD ATTRIBUTE_READ_ONLY ATTRIBUTE_TYPE_INVALID ATTRIBUTE_VALUE_INVALID"
    private static let write = """
        SESSION_READ_ONLY TEMPLATE_INCONSISTENT TOKEN_WRITE_PROTECTED USER_NOT_LOGGED_IN
        """
    private static let begin = """
        ARGUMENTS_BAD FUNCTION_CANCELED MECHANISM_INVALID MECHANISM_PARAM_INVALID OPERATION_ACTIVE PIN_EXPIRED \
        USER_NOT_LOGGED_IN OPERATION_CANCEL_FAILED
        """
    private static let beginWithKey =
        begin + """
             KEY_FUNCTION_NOT_PERMITTED KEY_HANDLE_INVALID KEY_SIZE_RANGE KEY_TYPE_INCONSISTENT
            """
    private static let go = "ARGUMENTS_BAD FUNCTION_CANCELED OPERATION_NOT_INITIALIZED"
    private static let ciphertext = "ENCRYPTED_DATA_INVALID ENCRYPTED_DATA_LEN_RANGE USER_NOT_LOGGED_IN"
    private static let makeSecretKey =
        template + " " + write + """
             CURVE_NOT_SUPPORTED FUNCTION_CANCELED MECHANISM_INVALID MECHANISM_PARAM_INVALID OPERATION_ACTIVE \
            PIN_EXPIRED TEMPLATE_INCOMPLETE
            """
    private static let makeKey = makeSecretKey + " DOMAIN_PARAMS_INVALID"

    private static let rows: [(String, String, String)] = [
        ("C_Initialize", any, "ARGUMENTS_BAD CANT_LOCK CRYPTOKI_ALREADY_INITIALIZED NEED_TO_CREATE_THREADS"),
        ("C_Finalize", any, "ARGUMENTS_BAD CRYPTOKI_NOT_INITIALIZED"),
        ("C_GetInfo", any, "ARGUMENTS_BAD CRYPTOKI_NOT_INITIALIZED"), ("C_GetFunctionList", any, "ARGUMENTS_BAD"),
        ("C_GetInterfaceList", any, "ARGUMENTS_BAD BUFFER_TOO_SMALL"), ("C_GetInterface", any, "ARGUMENTS_BAD"),
        ("C_GetSlotList", any, "ARGUMENTS_BAD BUFFER_TOO_SMALL CRYPTOKI_NOT_INITIALIZED"),
        ("C_GetSlotInfo", any, "ARGUMENTS_BAD CRYPTOKI_NOT_INITIALIZED DEVICE_ERROR SLOT_ID_INVALID"),
        ("C_GetTokenInfo", slot, ""), ("C_WaitForSlotEvent", any, "ARGUMENTS_BAD CRYPTOKI_NOT_INITIALIZED NO_EVENT"),
        ("C_GetMechanismList", slot, "BUFFER_TOO_SMALL"), ("C_GetMechanismInfo", slot, "MECHANISM_INVALID"),
        (
            "C_InitPIN", session,
            """
            ARGUMENTS_BAD FUNCTION_CANCELED PIN_INVALID PIN_LEN_RANGE SESSION_READ_ONLY TOKEN_WRITE_PROTECTED \
            USER_NOT_LOGGED_IN
            """
        ),
        (
            "C_SetPIN", session,
            """
            ARGUMENTS_BAD FUNCTION_CANCELED PIN_INCORRECT PIN_INVALID PIN_LEN_RANGE PIN_LOCKED SESSION_READ_ONLY \
            TOKEN_WRITE_PROTECTED
            """
        ),

        (
            "C_OpenSession", slot,
            "SESSION_COUNT SESSION_PARALLEL_NOT_SUPPORTED SESSION_READ_WRITE_SO_EXISTS TOKEN_WRITE_PROTECTED"
        ),
        ("C_CloseSession", session, ""), ("C_CloseAllSessions", token, "SLOT_ID_INVALID TOKEN_NOT_PRESENT"),
        ("C_GetSessionInfo", session, "ARGUMENTS_BAD"), ("C_SessionCancel", session, "OPERATION_CANCEL_FAILED"),
        ("C_Login", session, login), ("C_LoginUser", session, login), ("C_Logout", session, "USER_NOT_LOGGED_IN"),

        (
            "C_CreateObject", session,
            template + " " + write + " CURVE_NOT_SUPPORTED DOMAIN_PARAMS_INVALID PIN_EXPIRED TEMPLATE_INCOMPLETE"
        ),
        (
            "C_CopyObject", session,
            template + " " + write + " ACTION_PROHIBITED OBJECT_HANDLE_INVALID PIN_EXPIRED"
        ),
        (
            "C_DestroyObject", session,
            "ACTION_PROHIBITED OBJECT_HANDLE_INVALID PIN_EXPIRED SESSION_READ_ONLY TOKEN_WRITE_PROTECTED"
        ),
        ("C_GetObjectSize", session, "ARGUMENTS_BAD INFORMATION_SENSITIVE OBJECT_HANDLE_INVALID"),
        (
            "C_GetAttributeValue", session,
            "ARGUMENTS_BAD ATTRIBUTE_SENSITIVE ATTRIBUTE_TYPE_INVALID BUFFER_TOO_SMALL OBJECT_HANDLE_INVALID"
        ),
        ("C_SetAttributeValue", session, template + " " + write + " ACTION_PROHIBITED OBJECT_HANDLE_INVALID"),
        (
            "C_FindObjectsInit", session,
            "ARGUMENTS_BAD ATTRIBUTE_TYPE_INVALID ATTRIBUTE_VALUE_INVALID OPERATION_ACTIVE PIN_EXPIRED"
        ),
        ("C_FindObjects", session, "ARGUMENTS_BAD OPERATION_NOT_INITIALIZED"),
        ("C_FindObjectsFinal", session, "OPERATION_NOT_INITIALIZED"),

        ("C_EncryptInit", session, beginWithKey),
        ("C_Encrypt", session, go + " BUFFER_TOO_SMALL DATA_INVALID DATA_LEN_RANGE"),
        ("C_EncryptUpdate", session, go + " BUFFER_TOO_SMALL DATA_LEN_RANGE"),
        ("C_EncryptFinal", session, go + " BUFFER_TOO_SMALL DATA_LEN_RANGE"),
        ("C_DecryptInit", session, beginWithKey), ("C_Decrypt", session, go + " BUFFER_TOO_SMALL " + ciphertext),
        ("C_DecryptUpdate", session, go + " BUFFER_TOO_SMALL " + ciphertext),
        ("C_DecryptFinal", session, go + " BUFFER_TOO_SMALL " + ciphertext),
        ("C_DigestInit", session, begin), ("C_Digest", session, go + " BUFFER_TOO_SMALL"),
        ("C_DigestUpdate", session, go),
        (
            "C_DigestKey", session,
            "FUNCTION_CANCELED KEY_HANDLE_INVALID KEY_INDIGESTIBLE KEY_SIZE_RANGE OPERATION_NOT_INITIALIZED"
        ),
        ("C_DigestFinal", session, go + " BUFFER_TOO_SMALL"),
        ("C_SignInit", session, beginWithKey),
        (
            "C_Sign", session,
            go + " BUFFER_TOO_SMALL DATA_INVALID DATA_LEN_RANGE FUNCTION_REJECTED USER_NOT_LOGGED_IN"
        ),
        ("C_SignUpdate", session, go + " DATA_LEN_RANGE USER_NOT_LOGGED_IN"),
        ("C_SignFinal", session, go + " BUFFER_TOO_SMALL DATA_LEN_RANGE FUNCTION_REJECTED USER_NOT_LOGGED_IN"),
        ("C_VerifyInit", session, beginWithKey),
        ("C_Verify", session, go + " DATA_INVALID DATA_LEN_RANGE SIGNATURE_INVALID SIGNATURE_LEN_RANGE"),
        ("C_VerifyUpdate", session, go + " DATA_LEN_RANGE"),
        ("C_VerifyFinal", session, go + " DATA_LEN_RANGE SIGNATURE_INVALID SIGNATURE_LEN_RANGE"),

        ("C_GenerateKey", session, makeSecretKey), ("C_GenerateKeyPair", session, makeKey),
        (
            "C_WrapKey", session,
            """
            ARGUMENTS_BAD BUFFER_TOO_SMALL FUNCTION_CANCELED KEY_HANDLE_INVALID KEY_NOT_WRAPPABLE KEY_SIZE_RANGE \
            KEY_UNEXTRACTABLE MECHANISM_INVALID MECHANISM_PARAM_INVALID OPERATION_ACTIVE PIN_EXPIRED \
            USER_NOT_LOGGED_IN WRAPPING_KEY_HANDLE_INVALID WRAPPING_KEY_SIZE_RANGE WRAPPING_KEY_TYPE_INCONSISTENT
            """
        ),
        (
            "C_UnwrapKey", session,
            makeKey
                + """
                 BUFFER_TOO_SMALL UNWRAPPING_KEY_HANDLE_INVALID UNWRAPPING_KEY_SIZE_RANGE \
                UNWRAPPING_KEY_TYPE_INCONSISTENT WRAPPED_KEY_INVALID WRAPPED_KEY_LEN_RANGE
                """
        ),
        ("C_DeriveKey", session, makeKey + " KEY_HANDLE_INVALID KEY_SIZE_RANGE KEY_TYPE_INCONSISTENT"),

        (
            "C_SeedRandom", session,
            """
            ARGUMENTS_BAD FUNCTION_CANCELED OPERATION_ACTIVE RANDOM_NO_RNG RANDOM_SEED_NOT_SUPPORTED \
            USER_NOT_LOGGED_IN
            """
        ),
        (
            "C_GenerateRandom", session,
            "ARGUMENTS_BAD FUNCTION_CANCELED OPERATION_ACTIVE RANDOM_NO_RNG USER_NOT_LOGGED_IN"
        ),
        ("C_GetFunctionStatus", "FUNCTION_NOT_PARALLEL", ""), ("C_CancelFunction", "FUNCTION_NOT_PARALLEL", ""),
    ]
}
