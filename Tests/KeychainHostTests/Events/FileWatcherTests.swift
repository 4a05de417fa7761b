import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// The effects of a keychain's changes on its files, which watchers see.
@Suite struct FileWatcherTests {
    @Test func onlyNewSettingsChangeTheTimesOfTheFile() throws {
        let (test, watcher) = (try TestKeychain(), FileWatcher())
        watcher.watch(file: test.path)
        try test.addPassword()
        test.keychain.lock()
        try test.keychain.unlock(password: .of("correct"))
        #expect(!watcher.isReadable)
        try test.keychain.change(KeychainSettings(locksOnSleep: true))
        #expect(watcher.isReadable)
    }

    /// A new file time would make the next change wait for more than its own flush.
    @Test func watchersAreToldWithoutANewTimeOfTheFile() throws {
        let (test, watcher) = (try TestKeychain(), FileWatcher())
        utimes(test.path, [timeval(tv_sec: 1000, tv_usec: 0), timeval(tv_sec: 1000, tv_usec: 0)])
        watcher.watch(writingTo: ChangeNotifier(of: test.path).log)
        #expect(!watcher.isReadable)
        try test.addPassword()
        #expect(watcher.isReadable)
        let date = try FileManager.default.attributesOfItem(atPath: test.path)[.modificationDate] as? Date
        #expect(date == Date(timeIntervalSince1970: 1000))
    }
}

extension FileWatcher {
    fileprivate var isReadable: Bool {
        var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        return poll(&descriptors, 1, 0) == 1
    }
}
