internal import CCryptoki
internal import CFunctionList
internal import Glibc
internal import KeychainHost
internal import PIVDriver
internal import PKCS11Bridge
internal import Synchronization
internal import TokenKit

/// The module's one piece of state: what `C_Initialize` made. The one place of the target that names the drivers.
///
/// It is an address and no reference, since a child by `fork` must come by it without a lock, which another thread of its parent
/// may have held. Calls that are in what was made hold it themselves; it is freed with the last of them, once no thread is only just
/// about to.
enum Module {
    private static let address = Atomic<UInt>(0)

    /// What this process initialised; nil where it did not, whatever its parent did.
    static var current: Cryptoki? { taken().own }

    /// What there is, and where; that is a parent's where it is not this process's own.
    private static func taken() -> (address: UInt, own: Cryptoki?) {
        // Whoever finds nothing takes nothing: threads that call again and again would keep an end from its moment without any.
        guard address.load(ordering: .sequentiallyConsistent) != 0 else { return (0, nil) }
        tokenkit_begin_taking()
        defer { tokenkit_end_taking() }
        let address = address.load(ordering: .sequentiallyConsistent)
        guard let cryptoki = unsafe unmanaged(at: address)?.takeUnretainedValue() else { return (address, nil) }
        return (address, cryptoki.processIdentifier == getpid() ? cryptoki : nil)
    }

    private static func unmanaged(at address: UInt) -> Unmanaged<Cryptoki>? {
        unsafe UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged<Cryptoki>.fromOpaque($0) }
    }

    /// - Throws: `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    static func initialize() throws(CryptokiError) {
        let (before, own) = taken()
        guard own == nil else { throw CryptokiError(CKR_CRYPTOKI_ALREADY_INITIALIZED) }
        let made = unsafe Unmanaged.passRetained(make())
        let (isFirst, _) = address.compareExchange(
            expected: before, desired: unsafe UInt(bitPattern: made.toOpaque()), ordering: .sequentiallyConsistent)
        guard isFirst else {
            unsafe made.release()
            throw CryptokiError(CKR_CRYPTOKI_ALREADY_INITIALIZED)
        }
    }

    /// - Throws: `CKR_CRYPTOKI_NOT_INITIALIZED`.
    static func finalize() throws(CryptokiError) {
        guard current != nil, let ended = unsafe unmanaged(at: address.exchange(0, ordering: .sequentiallyConsistent))
        else { throw CryptokiError(CKR_CRYPTOKI_NOT_INITIALIZED) }
        unsafe ended.takeUnretainedValue().finalize()
        // To take it is a moment's work, unless the machine is busy. A thread that a child by `fork` has no copy of never ends it.
        for _ in 0..<patience {
            if tokenkit_is_taking() == 0 { return unsafe ended.release() }
            usleep(1_000)
        }
    }

    /// In milliseconds.
    private static let patience = 100

    private static func make() -> Cryptoki {
        let process = ProcessKeychains {
            [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)]
        }
        let filter = TokenFilter(
            path: path, variable: Directories.environmentVariable("TOKENKIT_PKCS11_TOKENS"))
        let behaviour = Behaviour(
            variable: Directories.environmentVariable("TOKENKIT_PKCS11_PROMPT"), program: program,
            prompter: FirstAvailablePrompter.standard())
        return Cryptoki(process, filter: filter, behaviour: behaviour)
    }

    /// Where the module was loaded from.
    private static var path: String? {
        unsafe tokenkit_module_path().map { unsafe String(cString: $0) }
    }

    /// The name of the program that loaded it.
    private static var program: String {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &target, target.count - 1)
        let path = String(decoding: target.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return path.split(separator: "/").last.map(String.init) ?? ""
    }
}

/// Runs a function's body, logs what came of it, and gives C its return value.
func call(_ function: StaticString = #function, _ body: (Cryptoki) throws(CryptokiError) -> Void) -> CK_RV {
    guard let cryptoki = Module.current else { return CKR_CRYPTOKI_NOT_INITIALIZED }
    return run(function, cryptoki.log) { () throws(CryptokiError) in try body(cryptoki) }
}

/// A function's name without its labels.
private func name(of function: StaticString) -> Substring { function.description.prefix { $0 != "(" } }

func run(_ function: StaticString, _ log: Log, _ body: () throws(CryptokiError) -> Void) -> CK_RV {
    do throws(CryptokiError) {
        try body()
        log.write("\(name(of: function)) CKR_OK")
        return CKR_OK
    } catch {
        log.write("\(name(of: function)) \(error)")
        return error.code
    }
}
