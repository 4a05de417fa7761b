import Testing

@testable import KeychainModel

/// Keychain semantics 3.2.
@Suite struct AccessControlTests {
    private typealias Flags = AccessControl.Flags

    @Test func theBitsAreApples() {
        let bits: [(AccessControl.Flags, UInt32)] = [
            (.userPresence, 0), (.biometryAny, 1), (.biometryCurrentSet, 3), (.devicePasscode, 4), (.companion, 5),
            (.or, 14), (.and, 15), (.privateKeyUsage, 30), (.applicationPassword, 31),
        ]
        for (flag, bit) in bits { #expect(flag.rawValue == 1 << bit) }
    }

    static let legal: [AccessControl.Flags] = [
        [], .userPresence, .devicePasscode, .privateKeyUsage, .applicationPassword,
        [.userPresence, .applicationPassword], [.userPresence, .privateKeyUsage],
        [.userPresence, .applicationPassword, .privateKeyUsage], [.devicePasscode, .applicationPassword],
        [.devicePasscode, .and, .applicationPassword], [.devicePasscode, .or, .biometryAny],
        [.devicePasscode, .or, .biometryCurrentSet], [.devicePasscode, .or, .companion, .privateKeyUsage],
    ]

    @Test(arguments: legal) func whatIsLegalComesBackFromItsEncoding(flags: AccessControl.Flags) throws {
        for protection in ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"] as [AttributeValue] {
            let control = try AccessControl(protection, flags)
            #expect(try AccessControl(parsing: control.encoded()) == control)
            #expect(control.protection == protection && control.flags == flags)
        }
    }

    @Test func whatContradictsItselfIsRefused() {
        let rows: [AccessControl.Flags] = [
            [.or, .and], [.biometryAny, .biometryCurrentSet], [.userPresence, .biometryAny],
            [.userPresence, .biometryCurrentSet], [.userPresence, .devicePasscode], [.userPresence, .companion],
            [.userPresence, .or], [.userPresence, .and], AccessControl.Flags(rawValue: 1 << 2),
            AccessControl.Flags(rawValue: .max),
        ]
        for flags in rows {
            #expect(throws: KeychainError(.param), "\(flags)") { try AccessControl("ak", flags) }
        }
    }

    @Test func biometricsAloneAreNotThere() {
        let rows: [AccessControl.Flags] = [
            .biometryAny, .biometryCurrentSet, .companion, [.biometryAny, .privateKeyUsage],
            [.biometryAny, .and, .devicePasscode], [.biometryAny, .devicePasscode], [.biometryAny, .or, .companion],
        ]
        for flags in rows {
            #expect(throws: KeychainError(.unimplemented), "\(flags)") { try AccessControl("ak", flags) }
        }
    }

    @Test func aProtectionIsMandatoryAndKnown() {
        for protection in ["", "xx", "akx", .number(1), .bool(true)] as [AttributeValue] {
            let error = #expect(throws: KeychainError(.param)) { try AccessControl(protection) }
            #expect(error?.key == "pdmn")
        }
    }

    @Test func otherBytesAreNone() throws {
        let bytes = try AccessControl("ak", .userPresence).encoded()
        for count in 0..<bytes.count {
            #expect(throws: KeychainError(.param)) { try AccessControl(parsing: Array(bytes.prefix(count))) }
        }
        for other in [bytes + [0], [2] + bytes.dropFirst(), bytes.dropLast(2) + [0xFF, 0xFF], bytes + bytes] {
            #expect(throws: KeychainError(.param)) { try AccessControl(parsing: Array(other)) }
        }
    }

    @Test func whatTheyAskFor() throws {
        #expect(try !AccessControl("ak").wantsPasscode)
        #expect(try AccessControl("ak", .userPresence).wantsPasscode)
        #expect(try AccessControl("ak", [.or, .devicePasscode, .biometryAny]).wantsPasscode)
        #expect(try !AccessControl("ak", .applicationPassword).wantsPasscode)
        #expect(try AccessControl("ak", .applicationPassword).wantsApplicationPassword)
    }
}
