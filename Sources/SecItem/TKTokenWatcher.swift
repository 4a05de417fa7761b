internal import KeychainModel
public import Foundation
internal import KeychainHost
internal import Platform
internal import Synchronization
internal import TokenKit

/// Reports inserted and removed cards. TKTokenWatcher.h.
///
/// A card has the id that its items have for ``kSecAttrTokenID``. Tokens of other PKCS#11 modules are not watched.
open class TKTokenWatcher: NSObject, @unchecked Sendable {
    /// The facts about a token.
    open class TokenInfo: NSObject {
        public let tokenID: String
        /// The reader that the token is in.
        public let slotName: String?
        /// The name of the driver, `piv`.
        public let driverName: String?

        init(_ identity: TokenIdentity, slotName: String) {
            tokenID = identity.id.description
            self.slotName = slotName
            driverName = identity.id.driver
        }
    }

    private struct Handlers {
        var present: Set<String> = []
        var insertion: (@Sendable (String) -> Void)?
        var removals: [String: @Sendable (String) -> Void] = [:]
    }

    private let handlers = Mutex(Handlers())
    private let watch: KeychainWatch

    public override convenience init() {
        self.init(
            watch: KeychainWatch(Keychains.process.preferences) { Keychains.process.slot(of: PCSCReader(name: $0)) })
    }

    /// A watcher with its insertion handler, ``setInsertionHandler(_:)``.
    public convenience init(insertionHandler: @escaping @Sendable (String) -> Void) {
        self.init()
        setInsertionHandler(insertionHandler)
    }

    init(watch: KeychainWatch) {
        self.watch = watch
        super.init()
        BlockingThread.start { [weak self, watch] in
            watch.run { event in self?.note(event) }
        }
    }

    deinit { watch.cancel() }

    /// The ids of the inserted tokens.
    open var tokenIDs: [String] { TKTokenWatcher.present().map(\.tokenID) }

    /// The facts about an inserted token; nil for an absent one.
    open func tokenInfo(forTokenID tokenID: String) -> TokenInfo? {
        TKTokenWatcher.present().first { $0.tokenID == tokenID }
    }

    /// Sets the handler that is called, on a thread of the watcher, with the id of each token that is inserted, and first with
    /// those that are inserted already.
    open func setInsertionHandler(_ insertionHandler: @escaping @Sendable (String) -> Void) {
        let present = handlers.withLock { handlers in
            handlers.insertion = insertionHandler
            return handlers.present
        }
        BlockingThread.start { present.sorted().forEach(insertionHandler) }
    }

    /// Sets the handler that is called once, when a token is removed; at once for an absent one. Another handler of the
    /// token is replaced.
    open func addRemovalHandler(_ removalHandler: @escaping @Sendable (String) -> Void, forTokenID tokenID: String) {
        handlers.withLock { $0.removals[tokenID] = removalHandler }
        guard !tokenIDs.contains(tokenID) else { return }
        guard let handler = handlers.withLock({ $0.removals.removeValue(forKey: tokenID) }) else { return }
        BlockingThread.start { handler(tokenID) }
    }

    func note(_ event: KeychainEvent) {
        guard let id = event.keychain?.rawValue else { return }
        switch event.kind {
        case .tokenInserted:
            let handler = handlers.withLock { handlers in
                handlers.present.insert(id).inserted ? handlers.insertion : nil
            }
            handler?(id)
        case .tokenRemoved:
            let handler = handlers.withLock { handlers in
                handlers.present.remove(id)
                return handlers.removals.removeValue(forKey: id)
            }
            handler?(id)
        default: break
        }
    }

    private static func present() -> [TokenInfo] {
        let tokens = (try? Keychains.process.present(locals: false))?.tokens ?? []
        return tokens.compactMap { token in
            ((try? token.identity()) ?? nil).map { TokenInfo($0, slotName: token.name) }
        }
    }
}
