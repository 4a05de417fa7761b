import CPCSC
import TestSupport
import Testing
import TokenKit

/// Cards that another program has powered down: the service leaves them so, and accepts no connections.
@Suite struct PoweredDownTests {
    /// Releases the card with `SCARD_UNPOWER_CARD`, as another program may.
    private static func switchOff(_ reader: String) -> Bool {
        var (context, card): (SCARDCONTEXT, SCARDHANDLE) = (0, 0)
        var active: DWORD = 0
        guard SCardEstablishContext(DWORD(SCARD_SCOPE_SYSTEM), nil, nil, &context) == SCARD_S_SUCCESS else {
            return false
        }
        defer { SCardReleaseContext(context) }
        let protocols = DWORD(SCARD_PROTOCOL_T0 | SCARD_PROTOCOL_T1)
        return SCardConnect(context, reader, DWORD(SCARD_SHARE_SHARED), protocols, &card, &active) == SCARD_S_SUCCESS
            && SCardDisconnect(card, DWORD(SCARD_UNPOWER_CARD)) == SCARD_S_SUCCESS
    }

    @Test func whoHasTheCardGoesOnAndLocksNobodyOut() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let reader = try service.reader()
            let ours = try reader.connect(trace: nil)
            let first = try ours.exchange("00A40400").epoch
            for round in 1...3 {
                #expect(PoweredDownTests.switchOff(reader.name))
                let (answers, epoch) = try ours.exchange("00A40400")
                #expect(answers == ["00A404009000"])
                #expect(epoch == first + round, "it forgets what it was told, as after a reset")
                #expect(try reader.connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
            }
        }
    }

    @Test func whoComesLaterSwitchesItOn() async {
        await #expect(processExitsWith: .success) {
            let service = try OwnService.started()
            defer { service.end() }
            _ = try service.insert()
            let reader = try service.reader()
            #expect(PoweredDownTests.switchOff(reader.name))
            for _ in 0..<2 {
                #expect(try reader.connect(trace: nil).exchange("00A40400").answers == ["00A404009000"])
            }
        }
    }
}
