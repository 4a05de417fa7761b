import Foundation
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit

/// The PC/SC service of the process that a test runs in. It can be ended and started again.
///
/// libpcsclite reads the address of its service from the environment once in a process. So each of these tests is an exit
/// test, which runs in its own process, and the address is a link to the present daemon.
final class OwnService {
    private let folder: TemporaryFolder
    private var daemon: PrivatePCSCD?

    /// The folder of the socket's address.
    var folderPath: String { folder.path }

    /// Sets the address of this process's service, which does not run yet.
    init() throws {
        folder = try TemporaryFolder()
        setenv("PCSCLITE_CSOCK_NAME", folder.path("pcscd.comm"), 1)
    }

    /// A service that runs until ``end()``.
    static func started() throws -> OwnService {
        let service = try OwnService()
        try service.start()
        return service
    }

    func start() throws {
        let daemon = try PrivatePCSCD()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("pcscd.comm"), withDestinationPath: daemon.socketPath)
        self.daemon = daemon
    }

    func stop() throws {
        try FileManager.default.removeItem(atPath: folder.path("pcscd.comm"))
        daemon = nil
    }

    /// Ends the service. Without this call it could end earlier.
    func end() {
        daemon = nil
    }

    /// The reader.
    ///
    /// - Parameter patience: the time that another program's transaction is waited for.
    func reader(patience: Duration = .seconds(60)) throws -> PCSCReader {
        PCSCReader(name: try #require(daemon).readerName, patience: patience)
    }

    /// Puts a card into the reader, and waits until the service knows of it.
    func insert(
        atr: [UInt8] = ScriptedCard.atr, answer: @escaping @Sendable ([UInt8]) -> [UInt8]? = ScriptedCard.echo
    ) throws -> ScriptedCard {
        let watch = Watch()
        let card = ScriptedCard(socket: try #require(daemon).connectCard(), atr: atr, answer: answer)
        let name = try reader().name
        try watch.wait { event in
            switch event {
            case .cardInserted(name, _), .cardMute(name): true
            default: false
            }
        }
        return card
    }

    /// Takes a card out, and waits until the service knows of it.
    func remove(_ card: ScriptedCard) throws {
        let name = try reader().name
        let watch = Watch()
        try watch.wait { $0.isInsertion(into: name) }
        card.remove()
        try watch.wait { $0 == .cardRemoved(reader: name) }
    }
}

/// A watch on the readers of this process's service, with its events in order.
final class Watch: Sendable {
    private let monitor = ReaderMonitor()
    private let events = Mutex<[ReaderEvent]>([])
    private let arrival = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)

    init() {
        Thread { [monitor, self] in
            monitor.run { event in
                events.withLock { $0.append(event) }
                arrival.signal()
            }
            end.signal()
        }.start()
    }

    /// The next event.
    ///
    /// - Throws: if none comes within half a minute.
    func next() throws -> ReaderEvent {
        try #require(arrival.wait(timeout: .now() + 30) == .success, "no event came")
        return events.withLock { $0.removeFirst() }
    }

    /// The next `count` events.
    func next(_ count: Int) throws -> [ReaderEvent] {
        try (0..<count).map { _ in try next() }
    }

    /// Skips events until the awaited one.
    @discardableResult
    func wait(for isAwaited: (ReaderEvent) -> Bool) throws -> ReaderEvent {
        while true {
            let event = try next()
            if isAwaited(event) { return event }
        }
    }

    /// Ends the watch. Returns false if it has not ended after half a minute.
    func cancel() -> Bool {
        monitor.cancel()
        return end.wait(timeout: .now() + 30) == .success
    }
}

extension ReaderEvent {
    func isInsertion(into reader: String) -> Bool {
        if case .cardInserted(reader, _) = self { true } else { false }
    }
}

extension CardConnection {
    /// Sends commands in one transaction, and returns the answers and the transaction's epoch.
    func exchange(_ commands: String...) throws -> (answers: [String], epoch: Int) {
        try withTransaction { (card) throws(TokenError) in
            var answers: [String] = []
            for command in commands {
                let parsed: CommandAPDU
                do throws(CardError) { parsed = try CommandAPDU.parse([UInt8](hex: command)).command } catch {
                    throw TokenError(error)
                }
                answers.append(Hex.encode(try card.exchange(parsed).encoded()))
            }
            return (answers, card.epoch)
        }
    }
}
