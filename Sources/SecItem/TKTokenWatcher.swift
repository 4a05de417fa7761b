public import Foundation
internal import HostAPI
internal import KeychainCalls
internal import KeychainModel
internal import Platform
internal import Synchronization

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

        init(_ card: KeychainDescription) {
            tokenID = card.identifier.rawValue
            slotName = card.location
            driverName = card.identifier.rawValue.split(separator: ":").first.map { String($0) }
        }
    }

    private struct Handlers {
        var present: Set<String> = []
        var insertion: (@Sendable (String) -> Void)?
        var removals: [String: @Sendable (String) -> Void] = [:]
    }

    private let handlers = Mutex(Handlers())
    /// Nil where the host has no place for another subscription.
    private let listener: EventListener?

    public override init() {
        listener = try? EventListener(Keychains.host)
        super.init()
        try? listener?.start { [weak self] in
            self?.catchUp()
        } _: { [weak self] event in
            self?.note(event)
        }
    }

    /// A watcher with its insertion handler, ``setInsertionHandler(_:)``.
    public convenience init(insertionHandler: @escaping @Sendable (String) -> Void) {
        self.init()
        setInsertionHandler(insertionHandler)
    }

    deinit { listener?.cancel() }

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

    /// Notes the insertions and removals that happened while events were lost.
    private func catchUp() {
        let (before, now) = (handlers.withLock { $0.present }, Set(tokenIDs))
        for id in before.subtracting(now) {
            note(KeychainEvent(.tokenRemoved, keychain: KeychainIdentifier(rawValue: id)))
        }
        for id in now { note(KeychainEvent(.tokenInserted, keychain: KeychainIdentifier(rawValue: id))) }
    }

    private static func present() -> [TokenInfo] {
        let found = (try? Keychains.host.keychains(RequestContext(questions: .never)))?.found ?? []
        return found.filter { $0.kind == .card }.map { TokenInfo($0) }
    }
}
