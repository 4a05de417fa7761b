public import KeychainModel
public import SecureBytes
internal import Synchronization

/// The number of a request, by which its client can cancel it.
public struct RequestNumber: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// The number of an authentication context, which its client chose.
public struct AuthenticationNumber: RawRepresentable, Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// A number that this process has not used.
    public static func next() -> AuthenticationNumber {
        AuthenticationNumber(rawValue: last.wrappingAdd(1, ordering: .relaxed).newValue)
    }
}

/// The circumstances of a request: its purpose, how a person may be asked, credentials that come along, and its time.
///
/// The identity of the client is not part of it: the host looks that up.
public struct RequestContext: Sendable, Equatable {
    /// The way in which a person may be asked for a PIN, a password or consent.
    public enum Questions: UInt8, Sendable, CaseIterable {
        /// No question: a request that needs an answer fails with `errSecInteractionNotAllowed`.
        case never = 0
        /// The host asks: pinentry, or the terminal of the client.
        case byHost = 1
        /// The host has the client ask, which answers by itself.
        case byClient = 2
    }

    /// A PIN or password that the client has. It comes before any question, and is never sent twice.
    public struct Credential: Sendable, Equatable {
        public let kind: CredentialKind
        public let secret: SharedSecret

        public init(_ kind: CredentialKind, _ secret: consuming Secret) {
            self.init(kind, SharedSecret(secret))
        }

        init(_ kind: CredentialKind, _ secret: SharedSecret) {
            self.kind = kind
            self.secret = secret
        }
    }

    /// The number by which the request can be cancelled, which no other request of the client has had; nil for a request that is not.
    public var number: RequestNumber?
    /// The purpose, in words that complete "PIN to …"; nil for the host's own words.
    public var purpose: String?
    public var questions: Questions
    /// The credentials, at most one of a kind.
    public var credentials: [Credential]
    /// The authentication context that the request belongs to; nil for one that ends with the request.
    ///
    /// The host keeps with it a person's proof of presence, which counts for later requests, and the refused
    /// credentials, which are not sent again. ``KeychainService/endAuthentication(_:_:)`` ends it.
    public var authentication: AuthenticationNumber?
    /// Whether a person has agreed to spend the last try of a PIN.
    public var mayUseLastTry: Bool
    /// The time after which the request counts as cancelled, in milliseconds; nil for none.
    public var timeLimit: Duration?
    /// The one place that the request is about, by its ``TokenPlace/location``: other readers and files are not looked into. Nil for the
    /// search list.
    public var place: String?

    public init(
        number: RequestNumber? = nil, purpose: String? = nil, questions: Questions = .byHost,
        credentials: [Credential] = [], authentication: AuthenticationNumber? = nil, mayUseLastTry: Bool = false,
        timeLimit: Duration? = nil, place: String? = nil
    ) {
        self.number = number
        self.purpose = purpose
        self.questions = questions
        self.credentials = credentials
        self.authentication = authentication
        self.mayUseLastTry = mayUseLastTry
        self.timeLimit = timeLimit
        self.place = place
    }
}
