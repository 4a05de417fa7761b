import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Platform

/// The sockets of hosts, which programs with several threads make as well.
@Suite struct HostSocketTests {
    /// A library must not change what the files of its program's other threads are for whom.
    @Test func theFilesOfOtherThreadsKeepTheirMode() throws {
        let folder = try TemporaryDirectory()
        let isDone = Atomic(false)
        let modes = Mutex<Set<mode_t>>([])
        let path = folder.path + "/file"
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
        let places = try (0..<8).map { _ in try TemporaryDirectory() }
        DispatchQueue.concurrentPerform(iterations: places.count) { index in
            for _ in 0..<50 {
                guard let listener = try? HostSocket.listen(in: places[index].path) else {
                    Issue.record("no socket")
                    return
                }
                var status = stat()
                #expect(lstat(HostSocket.path(in: places[index].path), &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
                close(listener)
            }
        }
        isDone.store(true, ordering: .relaxed)
        #expect(modes.withLock { $0.count } == 1)
    }
}
