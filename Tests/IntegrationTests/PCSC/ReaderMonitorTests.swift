import Foundation
import TestSupport
import Testing
import TokenKit

/// The watch on readers and cards, against a pcscd.
@Suite struct ReaderMonitorTests {
    @Test func tellsWhatIsThereAndWhatHappens() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            let others = try PCSCReader.all().map(\.name).filter { $0 != name }
            let watch = Watch()
            #expect(Set(try watch.next(1 + others.count)) == Set(([name] + others).map { .readerAdded($0) }))

            let card = try service.insert()
            #expect(try watch.next() == .cardInserted(reader: name, atr: ATR(ScriptedCard.atr)))
            card.remove()
            #expect(try watch.next() == .cardRemoved(reader: name))
            let mute = try service.insert(atr: [UInt8](repeating: 0x3B, count: 40))
            #expect(try watch.next() == .cardMute(reader: name))
            mute.remove()
            #expect(try watch.next() == .cardRemoved(reader: name))

            let again = try service.insert()
            #expect(try watch.next() == .cardInserted(reader: name, atr: ATR(ScriptedCard.atr)))
            let later = Watch()
            let there = Set(try later.next(2 + others.count))
            #expect(there.contains(.cardInserted(reader: name, atr: ATR(ScriptedCard.atr))))
            #expect(watch.cancel() && later.cancel())
            again.remove()
        }
    }

    @Test func connectionsOfProgramsAreNoEvents() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let card = try service.insert()
            let name = try service.reader().name
            let watch = Watch()
            try watch.wait { $0.isInsertion(into: name) }
            for sharing in [PCSCReader.Sharing.shared, .exclusive, .shared] {
                let connection = try service.reader().connect(sharing: sharing, trace: nil)
                _ = try connection.exchange("00A40400")
                connection.disconnect(resetting: true)
            }
            card.remove()
            #expect(try watch.wait { !$0.isAddition } == .cardRemoved(reader: name))
        }
    }

    @Test func outlivesTheService() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService()
            defer { service.end() }
            let watch = Watch()
            guard case .serviceUnavailable(let error) = try watch.next() else {
                Issue.record("a watch without a service says so first")
                return
            }
            #expect(error.code == .serviceUnavailable)

            try service.start()
            let name = try service.reader().name
            #expect(try watch.next() == .serviceAvailable)
            try watch.wait { $0 == .readerAdded(name) }
            _ = try service.insert()
            try watch.wait { $0.isInsertion(into: name) }

            try service.stop()
            var lost: [ReaderEvent] = []
            try watch.wait { event in
                lost.append(event)
                if case .serviceUnavailable = event { return true } else { return false }
            }
            #expect(lost.contains(.cardRemoved(reader: name)) && lost.contains(.readerRemoved(name)))

            try service.start()
            try watch.wait { $0 == .serviceAvailable }
            try watch.wait { $0 == .readerAdded(name) }
            #expect(watch.cancel())
        }
    }

    /// The race that SCardCancel loses: it has no effect on a wait that is about to begin.
    @Test func isCancelledAtAnyMoment() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            for round in 0..<100 {
                let watch = Watch()
                if round % 3 == 0 { _ = try watch.next() }
                if round % 3 == 1 { usleep(UInt32.random(in: 0...3_000)) }
                guard watch.cancel() else {
                    Issue.record("round \(round) does not end")
                    return
                }
            }
        }
    }

    @Test func isCancelledFromWithinItsOwnReport() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let monitor = ReaderMonitor()
            var count = 0
            monitor.run { _ in
                count += 1
                monitor.cancel()
            }
            #expect(count >= 1)
        }
    }

    @Test func isCancelledWhileItWaitsForAService() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService()
            defer { service.end() }
            let watch = Watch()
            _ = try watch.next()
            #expect(watch.cancel())
        }
    }

    @Test func isAStreamThatEndsWithItsTask() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            for await event in ReaderMonitor.events() where event == .readerAdded(name) { break }
            let task = Task {
                var count = 0
                for await _ in ReaderMonitor.events() { count += 1 }
                return count
            }
            task.cancel()
            _ = await task.value
        }
    }
}

extension ReaderEvent {
    fileprivate var isAddition: Bool {
        if case .readerAdded = self { true } else { false }
    }
}
