internal import CCryptoki

// The meanings of return values for the log, where the error has no reason of its own.
extension CryptokiError {
    static func meaning(of code: CK_RV) -> String {
        switch code {
        // The call itself.
        case CKR_ARGUMENTS_BAD: "an argument is missing, or not as the function takes it"
        case CKR_BUFFER_TOO_SMALL: "there is not enough room for the result (ask for its length first)"
        case CKR_FUNCTION_NOT_PARALLEL: "no function is under way that could be asked about"
        case CKR_CANT_LOCK: "the module locks by the system's means, and the program allows only its own"
        case CKR_CRYPTOKI_NOT_INITIALIZED: "this process has not called C_Initialize, or has called C_Finalize"
        case CKR_CRYPTOKI_ALREADY_INITIALIZED: "this process has called C_Initialize before"
        case CKR_NO_EVENT: "no card has come or gone"
        case CKR_RANDOM_SEED_NOT_SUPPORTED: "the system's random numbers take no seed"
        // Slots, sessions and logins.
        case CKR_SLOT_ID_INVALID: "there is no such slot"
        case CKR_TOKEN_NOT_PRESENT: "the slot is empty"
        case CKR_SESSION_PARALLEL_NOT_SUPPORTED: "sessions want CKF_SERIAL_SESSION"
        case CKR_SESSION_READ_ONLY: "the session was not opened for writing"
        case CKR_USER_ALREADY_LOGGED_IN: "the user is logged in (C_Logout first)"
        case CKR_USER_NOT_LOGGED_IN: "nobody is logged in (C_Login first)"
        case CKR_USER_TYPE_INVALID: "keychains have one user and no security officer"
        case CKR_USER_ANOTHER_ALREADY_LOGGED_IN: "the other of user and security officer is logged in (C_Logout first)"
        case CKR_SESSION_READ_ONLY_EXISTS: "a session is open that was not opened for writing"
        case CKR_SESSION_READ_WRITE_SO_EXISTS:
            "the security officer is logged in, beside whom all sessions are for writing"
        case CKR_PIN_LEN_RANGE: "the PIN is longer or shorter than the token's are"
        // Objects.
        case CKR_OBJECT_HANDLE_INVALID: "there is no such object"
        case CKR_ACTION_PROHIBITED: "the object does not allow it"
        case CKR_TOKEN_WRITE_PROTECTED: "a card is changed by its security officer alone (C_Login as CKU_SO)"
        case CKR_ATTRIBUTE_SENSITIVE: "the attribute does not leave the token"
        case CKR_TEMPLATE_INCOMPLETE: "the template lacks an attribute"
        case CKR_TEMPLATE_INCONSISTENT: "the template's attributes do not go together, or ask for what there is not"
        case CKR_CURVE_NOT_SUPPORTED: "the curve is none that is offered here"
        case CKR_DOMAIN_PARAMS_INVALID: "the parameters name no curve"
        // Operations.
        case CKR_OPERATION_NOT_INITIALIZED: "nothing is under way in the session that this goes on with"
        case CKR_OPERATION_ACTIVE: "another one is under way in the session"
        case CKR_MECHANISM_INVALID: "the token does not do it, or not with this function"
        case CKR_MECHANISM_PARAM_INVALID: "the mechanism's parameter is not as it has to be"
        // Keys and data.
        case CKR_KEY_HANDLE_INVALID: "it is not a key"
        case CKR_KEY_TYPE_INCONSISTENT: "the mechanism is for another kind of key"
        case CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT: "the key is of a kind that unwraps nothing"
        case CKR_KEY_FUNCTION_NOT_PERMITTED: "the key is not for this use"
        case CKR_KEY_INDIGESTIBLE: "only the bytes of secret keys are digested"
        case CKR_WRAPPED_KEY_INVALID: "it is not a key that was wrapped with this one"
        case CKR_KEY_NOT_WRAPPABLE: "no mechanism wraps keys of this kind"
        case CKR_KEY_UNEXTRACTABLE: "the key was made to stay"
        case CKR_WRAPPED_KEY_LEN_RANGE: "what this key wraps is of another length"
        case CKR_DATA_LEN_RANGE: "the data is longer or shorter than the key and the mechanism take"
        case CKR_ENCRYPTED_DATA_LEN_RANGE: "what is encrypted for this key is of another length"
        case CKR_SIGNATURE_LEN_RANGE: "the key's signatures are of another length"
        case CKR_SIGNATURE_INVALID: "it is not a signature of this data by this key"
        default: ""
        }
    }
}
