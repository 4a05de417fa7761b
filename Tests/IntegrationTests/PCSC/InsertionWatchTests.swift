import Foundation
import TestSupport
import Testing

@testable import TokenKit

/// Tells inserted cards apart without a connection to them, against a pcscd.
@Suite struct InsertionWatchTests {
    @Test func aCardIsTheSameUntilItGoesAndNoneIsLikeAnother() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            let watch = InsertionWatch()
            #expect(watch.insertion(in: name) == nil)
            #expect(watch.insertion(in: "No such reader") == nil)

            let card = try service.insert()
            let first = try #require(watch.insertion(in: name))
            let connection = try service.reader().connect(sharing: .exclusive, trace: nil)
            #expect(watch.insertion(in: name) == first, "another program's connection changes nothing")
            connection.disconnect(resetting: true)
            #expect(watch.insertion(in: name) == first)

            try service.remove(card)
            #expect(watch.insertion(in: name) == nil)
            try service.remove(service.insert())
            _ = try service.insert()
            let second = try #require(watch.insertion(in: name))
            #expect(second != first)
            #expect(watch.insertion(in: name) == second)
        }
    }

    /// A new service counts from the start, so that its first card has the same number as the old service's.
    @Test func noCardOutlivesItsService() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            let name = try service.reader().name
            let watch = InsertionWatch()
            _ = try service.insert()
            let first = try #require(watch.insertion(in: name))
            try service.stop()
            #expect(watch.insertion(in: name) == nil)
            try service.start()
            _ = try service.insert()
            #expect(eventually { watch.insertion(in: name) != nil })
            #expect(watch.insertion(in: name) != first)
        }
    }
}
