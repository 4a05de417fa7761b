import ItemDictionaries
import KeychainHost
import KeychainModel
import SecureBytes
import Testing

@testable import tokenctl

/// Dictionaries of SecItem as arguments.
@Suite struct ItemArgumentsTests {
    private func text(_ arguments: String...) throws -> [String: String] {
        try ItemArguments.dictionary(arguments).mapValues { ItemArguments.text($0) ?? "?" }
    }

    @Test func `Pairs stand together or apart`() throws {
        #expect(try text("class=genp,acct=joe") == ["class": "genp", "acct": "joe"])
        #expect(try text("class=genp", "acct=joe") == ["class": "genp", "acct": "joe"])
        #expect(try text("labl=a, b = c,svce=x=y") == ["labl": "a, b = c", "svce": "x=y"])
        #expect(try text("labl=") == ["labl": ""])
        #expect(try text().isEmpty)
    }

    @Test func `Values have the type of their key`() throws {
        let dictionary = try ItemArguments.dictionary([
            "port=443", "crtr=aapl", "gena=0x00ff", "invi=true", "cdat=2026-10-21", "r_Data=0", "m_Limit=all",
            "m_CaseInsensitive=1", "m_ValidOnDate=now", "labl=0x41", "sync=syna", "type=note",
        ])
        guard case .number(443) = dictionary["port"], case .number(0x6161_706C) = dictionary["crtr"],
            case .data([0x00, 0xFF]) = dictionary["gena"], case .bool(true) = dictionary["invi"],
            case .date(1_792_540_800) = dictionary["cdat"], case .bool(false) = dictionary["r_Data"],
            case .string("m_LimitAll") = dictionary["m_Limit"], case .bool(true) = dictionary["m_CaseInsensitive"],
            case .null = dictionary["m_ValidOnDate"], case .string("0x41") = dictionary["labl"],
            case .string("syna") = dictionary["sync"], case .number(0x6E6F_7465) = dictionary["type"]
        else {
            Issue.record("\(dictionary)")
            return
        }
    }

    @Test(arguments: ["", "0x"]) func `A reference is written as JSON has it, or as data`(_ prefix: String) throws {
        let reference = PersistentReference(.genericPassword, .local(UniqueID()))
        let digits = Hex.encode(reference.encoded())
        guard
            case .data(reference.encoded()) = try ItemArguments.dictionary(["v_PersistentRef=\(prefix)\(digits)"])[
                "v_PersistentRef"]
        else {
            Issue.record("\(digits)")
            return
        }
    }

    @Test(arguments: ItemClass.allCases)
    func `No attribute takes a value that is not of its type`(_ itemClass: ItemClass) throws {
        for attribute in itemClass.attributes {
            switch attribute.type {
            case .number, .boolean, .date:
                let error = #expect(throws: CommandError.self) {
                    try ItemArguments.dictionary(["\(attribute)=no value"])
                }
                #expect(error?.description.contains("'\(attribute)'") == true)
            default: _ = try ItemArguments.dictionary(["\(attribute)=a value"])
            }
        }
    }

    @Test(arguments: [
        "class", "=genp", "port=", "port=http", "port=4 4", "port=0x1BB", "port=99999999999999999999", "ctyp=v3",
        "bsiz=big",
        "sync=no", "kcls=priv", "v_PersistentRef=", "v_PersistentRef=x", "v_PersistentRef=67656e70", "invi=maybe",
        "r_Data=yes", "gena=0x0", "cdat=yesterday", "m_ValidOnDate=never",
        "acct=a,acct=b",
    ])
    func `What is no value of its key is an error`(_ argument: String) {
        #expect(throws: CommandError.self) { try ItemArguments.dictionary([argument]) }
    }
}
