public import ModuleConfiguration
internal import Synchronization
public import TokenKit

/// A PKCS #11 module of another maker, whose tokens are read as cards are.
///
/// The module runs in a worker, which is started with the first request. Where the module crashes, hangs or answers nonsense, the
/// request fails.
public final class PKCS11Module: TokenModule, SharedTokenModule {
    /// The name in p11-kit, or the file's name.
    public var name: String { configured.name }
    /// The module's file; nil for a module that p11-kit reaches elsewhere.
    public var path: String? { configured.path }
    public var driver: String { PKCS11Module.driver }
    public var readsCardsAlone: Bool { configured.readsCardsAlone }

    /// The first part of the ids of all modules' tokens; what follows is the token's URI (RFC 7512).
    public static let driver = "pkcs11"

    private let configured: ConfiguredModule
    private let host: ModuleHost
    private let pinLimits: @Sendable () -> PINLimits
    private let slots = Mutex<[UInt64: ModuleTokenSlot]>([:])
    /// The module of which this one has the worker and all logins in common; nil for a module of one client.
    private let first: PKCS11Module?
    /// The number of this client among those of the first module.
    private let client: Int
    private let clients = Atomic(0)
    /// Called when a client of a shared module has ended.
    private let whenLeft: (@Sendable () -> Void)?

    /// - Parameter pinLimits: the limits of the time for which a PIN that is given to a token now stays valid.
    public convenience init(
        _ configured: ConfiguredModule, worker: WorkerProgram, patience: WorkerPatience = WorkerPatience(),
        endingPINsAfter pinLimits: @escaping @Sendable () -> PINLimits = { .none }
    ) {
        self.init(configured, ModuleHost(configured, program: worker, patience: patience), pinLimits)
    }

    private init(
        _ configured: ConfiguredModule, _ host: ModuleHost, _ pinLimits: @escaping @Sendable () -> PINLimits
    ) {
        (self.configured, self.host, self.pinLimits) = (configured, host, pinLimits)
        (first, client, whenLeft) = (nil, 0, nil)
    }

    /// Makes the module of another client, which has the worker and the logins of tokens in common with an existing one. The client uses
    /// a PIN that another one has given only by a person's permission.
    ///
    /// - Parameter whenLeft: called when the client has ended.
    package init(sharing other: PKCS11Module, whenLeft: (@Sendable () -> Void)? = nil) {
        let first = other.first ?? other
        (configured, host, pinLimits) = (first.configured, first.host, first.pinLimits)
        (self.first, client) = (first, first.clients.add(1, ordering: .relaxed).newValue)
        self.whenLeft = whenLeft
    }

    deinit { whenLeft?() }

    /// The module after its end, with a new worker. The PINs that tokens have refused stay refused.
    package func renewed() -> PKCS11Module { PKCS11Module(configured, host.renewed(), pinLimits) }

    public func tokens() throws(TokenError) -> [ModuleSlot] {
        let present = try host.tokens().answer
        return zip(present, slots(of: present)).map { ModuleSlot(reader: $0.slotDescription, slot: $1) }
    }

    private func slots(of present: [ModuleTokenInfo]) -> [ModuleTokenSlot] {
        let firsts = first?.slots(of: present)
        return slots.withLock { slots in
            slots = slots.filter { slot in present.contains { $0.slot == slot.key } }
            return present.enumerated().map { index, token in
                let first = firsts?[index]
                if let known = slots[token.slot], first.map(known.isShared) ?? true { return known }
                let slot =
                    first.map { ModuleTokenSlot(sharing: $0, for: client) }
                    ?? ModuleTokenSlot(host, token, endingPINsAfter: pinLimits)
                slots[token.slot] = slot
                return slot
            }
        }
    }

    package var slotsWithPIN: [String] {
        slots.withLock { Array($0.values) }.filter(\.hasLogin).map(\.name).sorted()
    }

    package func forgetPINs() {
        let slots = slots.withLock { Array($0.values) }
        for slot in slots { slot.forgetPIN() }
    }

    /// Ends the worker for good, for all clients.
    package func end() { host.end() }
}
