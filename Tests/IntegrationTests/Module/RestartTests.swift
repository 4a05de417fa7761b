import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The module while the real service ends and is started again.
@Suite struct RestartTests {
    @Test func sessionsAndHandlesOutliveTheServiceAndTheLoginIsSaidToBeOver() throws {
        let folder = try TemporaryFolder()
        let service = try Service(in: folder)
        let program = try ModuleProgram.compile("restart", in: folder)
        var environment = ModuleProgram.environment(in: folder)
        environment["PCSCLITE_CSOCK_NAME"] = service.address
        Thread { service.serve() }.start()
        defer { service.isOver.store(true, ordering: .relaxed) }
        let command = ["sh", "-c", "cd '\(folder.path)' && exec '\(program)' '\(ModuleProgram.module)'"]
        let result = try Program.run(command, environment: environment)
        #expect(result.status == 0, "\(result)")
        #expect(service.starts.load(ordering: .relaxed) == 6)
    }

    /// A service that ends and starts at a program's wish, always with the same card in its reader.
    private final class Service: Sendable {
        let isOver = Atomic(false)
        let starts = Atomic(0)
        private let folder: TemporaryFolder
        private let card: VirtualCard
        private let holder = Mutex<DaemonWithCard?>(nil)

        init(in folder: TemporaryFolder) throws {
            self.folder = folder
            card = try VirtualCardBuilder(profile: .generic, fourKeys: .p256).build()
            try start()
        }

        /// A link, that leads to whichever daemon there is.
        var address: String { folder.path("address") }

        private func start() throws {
            let new = try DaemonWithCard(card)
            holder.withLock { $0 = new }
            try FileManager.default.createSymbolicLink(atPath: address, withDestinationPath: new.daemon.socketPath)
            starts.add(1, ordering: .relaxed)
        }

        private func stop() throws {
            try FileManager.default.removeItem(atPath: address)
            holder.withLock { $0 = nil }
        }

        /// Does what the files that the program makes are called, and removes each when that is done.
        func serve() {
            let wishes: [(file: String, meet: () throws -> Void)] = [
                (folder.path("stop"), stop), (folder.path("start"), start),
            ]
            while !isOver.load(ordering: .relaxed) {
                for wish in wishes where access(wish.file, F_OK) == 0 {
                    // One that fails leaves its file, and the program says so.
                    if (try? wish.meet()) != nil { unlink(wish.file) }
                }
                usleep(10_000)
            }
        }
    }
}
