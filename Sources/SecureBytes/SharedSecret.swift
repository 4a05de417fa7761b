/// A secret with several owners, for values that are copied. It is overwritten when the last owner releases it.
public final class SharedSecret: Sendable {
    public let secret: Secret

    public init(_ secret: consuming Secret) {
        self.secret = secret
    }

    package convenience init?(ifAny secret: consuming Secret?) {
        guard let secret = consume secret else { return nil }
        self.init(secret)
    }
}

extension SharedSecret: Equatable {
    public static func == (left: SharedSecret, right: SharedSecret) -> Bool { left.secret.equals(right.secret) }
}
