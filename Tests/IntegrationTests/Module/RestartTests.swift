import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The module while the real service ends and is started again.
@Suite struct RestartTests {
    @Test func sessionsHandlesAndSlotsOutliveTheServiceAndTheLoginIsSaidToBeOver() throws {
        let folder = try TemporaryFolder()
        let service = try Service(in: folder)
        let program = try ModuleProgram.compile("restart", in: folder)
        let result = try ModuleProgram.run(program, in: folder, service: service.address) { wish in
            try wish == "stop" ? service.stop() : service.start()
        }
        #expect(result.status == 0, "\(result)")
        #expect(service.starts.load(ordering: .relaxed) == 9)
    }

    /// A service that ends and starts, always with the same card in its reader.
    private final class Service: Sendable {
        /// The path of a link to the present daemon.
        let address: String
        let starts = Atomic(0)
        private let card: VirtualCard
        private let holder = Mutex<DaemonWithCard?>(nil)

        init(in folder: TemporaryFolder) throws {
            address = folder.path("address")
            card = try VirtualCardBuilder(profile: .generic, fourKeys: .p256).build()
            try start()
        }

        func start() throws {
            let new = try DaemonWithCard(card)
            holder.withLock { $0 = new }
            try FileManager.default.createSymbolicLink(atPath: address, withDestinationPath: new.daemon.socketPath)
            starts.add(1, ordering: .relaxed)
        }

        func stop() throws {
            try FileManager.default.removeItem(atPath: address)
            // The card's own thread may hold the last reference to the daemon.
            holder.withLock { $0.take() }?.daemon.stop()
        }
    }
}
