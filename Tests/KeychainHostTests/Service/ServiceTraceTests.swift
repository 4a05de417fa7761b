import Glibc
import HostAPI
import HostConnection
import KeychainModel
import Localization
import PKCS11Bridge
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import Wire
import WireTransport

@testable import HostServer
@testable import KeychainHost

/// The trace of commands to cards, whose file a client hands in; and a client whose options its host cannot honour.
@Suite struct ServiceTraceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file(_ name: String = "trace") -> Int32 {
        open(folder.path(name), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    }

    private func text(_ name: String = "trace") throws -> String {
        String(decoding: try folder.read(name), as: UTF8.self)
    }

    private func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    /// The client's end of a connection to a host with a trace, or without.
    private func serve(
        _ trace: TraceFile?,
        _ service: @escaping @Sendable (ServiceHello, Peer) throws(KeychainError) -> any InProcessHost
    ) throws(KeychainError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw KeychainError(.internal, "\(SystemError().reason)")
        }
        let served = FrameSocket(ends[1])
        let make = ClientMaker(
            module: { _, _, _ in Cryptoki(Host(ProcessKeychains(), prompter: NoPrompter())) }, service: service)
        BlockingThread.start { Greeting.serve(served, Heartbeat(), make, trace: trace) }
        return ends[0]
    }

    // MARK: Over the socket

    private func client(
        _ options: HostOptions = .standard, trace: Int32? = nil,
        connect: @escaping @Sendable () throws(KeychainError) -> Int32
    ) -> SocketClient {
        SocketClient(
            of: [SocketClient.Host(connect: connect)], prompter: NoPrompter(), environment: [], options: options,
            trace: trace)
    }

    @Test func aHostWithATraceWritesToTheFileThatItsClientHandsIn() throws {
        let stage = try ServiceStage(.call)
        let trace = TraceFile()
        let client = client(trace: file()) { () throws(KeychainError) in
            try serve(trace) { _, _ in stage.host }
        }
        _ = try client.service.places(RequestContext())
        trace.exchanged(command: "00A4", response: "9000")
        #expect(try text() == "> 00A4\n< 9000\n")
    }

    @Test func aHostWithoutATraceEndsTheClientThatHandsInAFile() throws {
        let stage = try ServiceStage(.call)
        let client = client(trace: file()) { () throws(KeychainError) in
            try serve(nil) { _, _ in stage.host }
        }
        #expect(throws: KeychainError(.notAvailable)) { try client.service.places(RequestContext()) }
        #expect(try text() == "")
    }

    @Test func eachRequestOfAClientFailsWithTheReasonForWhichItsOptionsCannotBeHonoured() throws {
        let client = client { () throws(KeychainError) in
            try serve(nil) { _, _ throws(KeychainError) in
                throw KeychainError(.param, "there is no module 'x'", remedy: "name another")
            }
        }
        for _ in 0..<2 {
            let error = #expect(throws: KeychainError.self) { try client.service.places(RequestContext()) }
            #expect(error?.code == .param)
            #expect(error.map { "\($0)" }?.contains("there is no module 'x' (name another)") == true)
        }
        client.service.cancel(RequestNumber(rawValue: 7))
        #expect(throws: KeychainError(.param)) { try client.service.drivers(RequestContext()) }
    }

    @Test func optionsBeyondTheirBoundsAreNotSent() {
        let options = HostOptions(reader: String(repeating: "r", count: 4097))
        let client = client(options) { () throws(KeychainError) -> Int32 in
            Issue.record("it connects")
            throw KeychainError(.internal)
        }
        #expect(throws: KeychainError(.param)) { try client.connect() }
    }

    // MARK: Files

    @Test func itWritesNothingWithoutAFileAndToTheLastOneThatItGot() throws {
        let trace = TraceFile()
        trace.exchanged(command: "lost", response: "lost")
        trace.write(to: file("one"))
        trace.exchanged(command: "1", response: "2")
        trace.write(to: file("two"))
        trace.exchanged(command: "3", response: "4")
        #expect(try text("one") == "> 1\n< 2\n")
        #expect(try text("two") == "> 3\n< 4\n")
    }

    @Test func aFullDiskInterruptsNothing() throws {
        let trace = TraceFile()
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        trace.write(to: full)
        for _ in 0..<2 { trace.exchanged(command: "1", response: "2") }
        #expect(fcntl(full, F_GETFD) >= 0)
    }

    /// A card's transaction would be held for as long as a write waits.
    @Test func aPipeThatIsNotReadHoldsItForASecondInAll() throws {
        let ends = try pipe()
        defer { close(ends.read) }
        let trace = TraceFile()
        trace.write(to: ends.write)
        let long = String(repeating: "0", count: 20_000)
        let begin = ContinuousClock.now
        for _ in 0..<20 { trace.exchanged(command: long, response: long) }
        #expect(begin.duration(to: .now) < .seconds(10))
        var byte: UInt8 = 0
        var count = 0
        while read(ends.read, &byte, 1) == 1 { count += 1 }
        // The trace has closed its end, so that the reader sees the end as well.
        #expect(count < 20 * 40_000)
    }

    @Test func aReaderThatIsSlowLosesNothing() throws {
        let ends = try pipe()
        let trace = TraceFile()
        trace.write(to: ends.write)
        let long = String(repeating: "0", count: 10_000)
        let counted = Counter()
        BlockingThread.start {
            var part = [UInt8](repeating: 0, count: 5_000)
            while true {
                usleep(1_000)
                let count = read(ends.read, &part, part.count)
                guard count > 0 else { break }
                counted.add(count)
            }
            close(ends.read)
        }
        for _ in 0..<20 { trace.exchanged(command: long, response: long) }
        #expect(eventually { counted.value == 20 * (20_000 + 6) })
    }
}

/// A number that several threads add to.
private final class Counter: Sendable {
    private let sum = Mutex(0)

    func add(_ number: Int) { sum.withLock { $0 += number } }

    var value: Int { sum.withLock { $0 } }
}
