internal import Synchronization
public import TokenKit

/// A PKCS #11 module of another maker, whose tokens are read as cards are.
///
/// The module runs in a worker, which is started with the first request. Where the module crashes, hangs or answers nonsense, the
/// request fails.
public final class PKCS11Module: TokenModule {
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

    /// - Parameter pinLimits: the limits of the time for which a PIN that is given to a token now stays valid.
    public init(
        _ configured: ConfiguredModule, worker: WorkerProgram, patience: WorkerPatience = WorkerPatience(),
        endingPINsAfter pinLimits: @escaping @Sendable () -> PINLimits = { .none }
    ) {
        self.configured = configured
        self.pinLimits = pinLimits
        host = ModuleHost(configured, program: worker, patience: patience)
    }

    public func tokens() throws(TokenError) -> [ModuleSlot] {
        let present = try host.tokens().answer
        return slots.withLock { slots in
            slots = slots.filter { slot in present.contains { $0.slot == slot.key } }
            return present.map { token in
                let slot = slots[token.slot] ?? ModuleTokenSlot(host, token, endingPINsAfter: pinLimits)
                slots[token.slot] = slot
                return ModuleSlot(reader: token.slotDescription, slot: slot)
            }
        }
    }
}
