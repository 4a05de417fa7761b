internal import ArgumentParser
internal import KeychainModel
internal import SecureBytes

/// The conditions on which a new key of a card is used.
struct KeyPolicyOptions: ParsableArguments {
    enum PINChoice: String, ExpressibleByArgument, CaseIterable {
        case never, once, always

        var policy: PINPolicy {
            switch self {
            case .never: .never
            case .once: .once
            case .always: .always
            }
        }
    }

    enum TouchChoice: String, ExpressibleByArgument, CaseIterable {
        case never, always, cached

        var policy: TouchPolicy {
            switch self {
            case .never: .never
            case .always: .always
            case .cached: .cached
            }
        }
    }

    @Option(help: ArgumentHelp("When the key wants the PIN, instead of the slot's own rule.", valueName: "policy"))
    var pinPolicy: PINChoice?

    @Option(help: ArgumentHelp("When the key wants a touch.", valueName: "policy"))
    var touchPolicy: TouchChoice?

    var policies: KeyPolicies { KeyPolicies(pin: pinPolicy?.policy, touch: touchPolicy?.policy) }
}

/// The conditions on which a new key of a card is used, and the key whose place it takes.
struct NewKeyOptions: ParsableArguments {
    @OptionGroup var policy: KeyPolicyOptions
    @OptionGroup var replacement: ReplacementOptions

    var policies: KeyPolicies { policy.policies }
}

/// The consent to lose a key.
struct ReplacementOptions: ParsableArguments {
    @Flag(help: "Give up the key that the slot has.")
    var replace = false

    @Flag(help: "Give it up also where its certificate says that it decrypts: what was encrypted for it is lost.")
    var replaceDecryptionKey = false

    @Flag(help: "Give up the key with which the card attests to its keys: no reset brings the maker's back.")
    var replaceAttestationKey = false

    var replacing: KeyReplacement {
        replaceAttestationKey ? .attestation : replaceDecryptionKey ? .any : replace ? .ordinary : .none
    }
}

/// The consent to a weak key that is not made by the card.
struct WeakRSAKeyOptions: ParsableArguments {
    @Flag(help: "Take an RSA key also where everybody can compute it from its public half (CVE-2017-15361, ROCA).")
    var allowWeakKey = false
}

/// The consent to a weak key.
struct WeakKeyOptions: ParsableArguments {
    @Flag(
        help:
            "Make an EC key also where who holds the card for long can find it out (YubiKeys from 5.0 to 5.6, EUCLEAK)."
    )
    var allowWeakKey = false
}
