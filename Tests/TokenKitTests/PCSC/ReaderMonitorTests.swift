import Testing

@testable import TokenKit

@Suite struct ReaderMonitorCancellationTests {
    @Test func aMonitorThatWasCancelledBeforeItRanTellsNothing() {
        let monitor = ReaderMonitor()
        monitor.cancel()
        monitor.cancel()
        monitor.run { Issue.record("\($0)") }
    }
}
