internal import CryptokiNames
internal import Platform
package import KeychainHost
internal import PKCS11Driver
internal import Synchronization
package import TokenKit

/// The chosen reader: one whose name contains a text, or whose card a URI names.
package final class ReaderChoice: Sendable {
    private let text: String
    private let uri: PKCS11URI?
    /// The readers of the cards that the URI names, once they are known: each card is asked for it.
    private let named = Mutex<[PCSCReader]?>(nil)

    /// The reason that a text is not a usable URI, as a sentence.
    package struct Invalid: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Parameter text: a part of a reader's name, or a URI, of which the attributes that name a module are ignored.
    package init(_ text: String) throws(Invalid) {
        self.text = text
        do throws(PKCS11URIError) { uri = PKCS11URI.isURI(text) ? try PKCS11URI(text) : nil } catch {
            throw Invalid(description: error.description)
        }
    }

    /// The chosen readers that are there.
    ///
    /// - Throws: where the card that a URI names may be in a reader that fails.
    package func readers() throws(CardError) -> [PCSCReader] {
        let all = try PCSCReader.all()
        guard let uri else { return all.filter { $0.name.contains(text) } }
        if let named = named.withLock(\.self) { return named }
        var (found, failure): ([PCSCReader], CardError?) = ([], nil)
        for reader in all {
            do throws(CardError) {
                if try ReaderChoice.card(in: reader, is: uri) { found.append(reader) }
            } catch {
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        named.withLock { [found] in $0 = found }
        return found
    }

    /// Whether a chosen reader is there.
    package var isFound: Bool { (try? !readers().isEmpty) ?? false }

    /// Whether a module's token is the chosen one, by its slot's name or by the URI.
    package func includes(_ token: TokenKeychain) -> Bool {
        guard let uri else { return token.name.contains(text) }
        guard let identity = (try? token.identity()) ?? nil else { return false }
        return uri.matches(PKCS11URI.Place(identity, in: token.slot))
    }

    /// Whether the card in a reader is one that a URI names. The card is released again.
    ///
    /// - Throws: where another program holds it.
    private static func card(in reader: PCSCReader, is uri: PKCS11URI) throws(CardError) -> Bool {
        let slot = TokenSlot(reader: reader, drivers: StandardDrivers.all(TokenCaches(in: .ofUser)))
        defer { slot.disconnect(resetting: false) }
        do throws(TokenError) {
            return uri.matches(PKCS11URI.Place(try slot.identity(), in: slot))
        } catch {
            if error.code == .card(.inUse) { throw CardError(.inUse, error.reasonText) }
            return false
        }
    }
}

extension PKCS11URI.Place {
    /// A card as the module of this package shows it, or a token as its own module does.
    fileprivate init(_ identity: TokenIdentity, in slot: any TokenBackend) {
        let isForeign = identity.id.driver == PKCS11Module.driver
        self.init(
            PKCS11URI.Token(identity), slot: PKCS11URI.Slot(slot.cryptokiName), library: isForeign ? nil : .own)
    }
}
