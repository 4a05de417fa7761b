import Foundation
import Synchronization
import Testing

@testable import Platform

/// The sockets of hosts, which programs with several threads make as well.
@Suite final class HostSocketTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A library must not change what the files of its program's other threads are for whom.
    @Test func theFilesOfOtherThreadsKeepTheirMode() throws {
        let places = (0..<8).map { folder.path() + "/\($0)" }
        for place in places {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        }
        let isDone = Atomic(false)
        let modes = Mutex<Set<mode_t>>([])
        let path = folder.path() + "/file"
        let writer = Thread {
            while !isDone.load(ordering: .relaxed) {
                let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
                var status = stat()
                if fstat(file, &status) == 0 { modes.withLock { _ = $0.insert(status.st_mode & 0o777) } }
                close(file)
                unlink(path)
            }
        }
        writer.start()
        DispatchQueue.concurrentPerform(iterations: places.count) { index in
            for round in 0..<50 {
                let place = places[index] + "/\(round)"
                // A program that is started meanwhile has the socket for a moment, so that each has its own folder.
                guard mkdir(place, 0o700) == 0, let listener = try? HostSocket.listen(in: place) else {
                    Issue.record("no socket")
                    return
                }
                var status = stat()
                #expect(lstat(HostSocket.path(in: place), &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
                close(listener)
            }
        }
        isDone.store(true, ordering: .relaxed)
        #expect(modes.withLock { $0.count } == 1)
    }
}
