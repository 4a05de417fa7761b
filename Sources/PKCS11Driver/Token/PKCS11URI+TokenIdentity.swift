package import CryptokiNames
package import TokenKit

extension PKCS11URI.Token {
    /// A card's attributes as this package's module shows them. Another module's token has its own attributes, since its id is
    /// its URI.
    package init(_ identity: TokenIdentity) {
        let uri = identity.id.driver == PKCS11Module.driver ? try? PKCS11URI(identity.id.description) : nil
        self = uri?.wholeToken ?? PKCS11URI.Token(CryptokiTokenName(identity))
    }
}
